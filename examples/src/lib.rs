//! Small programs for users to copy; see the files beside `src`.
