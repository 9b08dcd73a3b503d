//! A language server, connected by two pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Outcome;

/// How long to wait for a response: the first look at a workspace builds its dependencies.
const PATIENCE: Duration = Duration::from_mins(20);
/// The error code for "the document has changed since the request: ask again".
const CONTENT_MODIFIED: i64 = -32_801;
/// The error code for a request that the server has cancelled.
const SERVER_CANCELLED: i64 = -32_802;

pub(super) struct Server {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
}

impl Server {
    /// Starts the program on a workspace with the sources of the standard library. Waits until it
    /// has loaded the workspace.
    pub(super) fn start(program: &Path, dir: &Path, library: &Path) -> Outcome<Self> {
        let mut child = Command::new(program)
            .current_dir(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = child.stdout.take().ok_or("no output")?;
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            // Ends with the server, or when the receiver is dropped.
            while let Ok(message) = receive(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut this = Self {
            child,
            input,
            messages,
            last_id: 0,
        };
        let folder = uri(dir);
        this.request(
            "initialize",
            &json!({
                "processId": std::process::id(),
                "rootUri": folder,
                "workspaceFolders": [{ "uri": folder, "name": "ide" }],
                "capabilities": {
                    "experimental": { "serverStatusNotification": true },
                    "textDocument": {
                        "diagnostic": {},
                        "hover": { "contentFormat": ["plaintext"] },
                    },
                },
                "initializationOptions": {
                    "checkOnSave": false,
                    "cargo": { "sysrootSrc": library },
                },
            }),
        )?;
        this.report("initialized", &json!({}))?;
        this.wait_until_quiet()?;
        Ok(this)
    }

    pub(super) fn report(&mut self, method: &str, params: &Value) -> Outcome {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    /// Sends a request, repeats it if the server says so, and waits for the response.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Outcome<Value> {
        loop {
            self.last_id += 1;
            let id = self.last_id;
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            self.send(&request)?;
            let mut answer = loop {
                let message = self.next()?;
                if message["id"] == id && message.get("method").is_none() {
                    break message;
                }
            };
            match answer["error"]["code"].as_i64() {
                None => return Ok(answer["result"].take()),
                Some(CONTENT_MODIFIED | SERVER_CANCELLED) => {}
                Some(_) => return Err(format!("{method}: {}", answer["error"]).into()),
            }
        }
    }

    pub(super) fn stop(mut self) -> Outcome {
        self.request("shutdown", &Value::Null)?;
        self.report("exit", &Value::Null)?;
        self.child.wait()?;
        Ok(())
    }

    fn wait_until_quiet(&mut self) -> Outcome {
        loop {
            let message = self.next()?;
            if message["method"] != "experimental/serverStatus" {
                continue;
            }
            let status = &message["params"];
            if status["health"] == "error" {
                return Err(format!("rust-analyzer cannot load the workspace: {status}").into());
            }
            if status["quiescent"] == true {
                return Ok(());
            }
        }
    }

    /// Returns the next message. Requests of the server get an empty response.
    fn next(&mut self) -> Outcome<Value> {
        let message = self.messages.recv_timeout(PATIENCE)?;
        if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": null });
            self.send(&answer)?;
        }
        Ok(message)
    }

    fn send(&mut self, message: &Value) -> Outcome {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len())?;
        Ok(self.input.flush()?)
    }
}

impl Drop for Server {
    /// Kills a server that was not shut down.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn receive(output: &mut BufReader<ChildStdout>) -> Outcome<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line)? == 0 {
            return Err("the server has ended".into());
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse()?;
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}
