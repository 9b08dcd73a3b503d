//! Small programs that a user would copy; see the files beside `src`.
