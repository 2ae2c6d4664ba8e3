//! The JVM peers: one Java source file, carried inside this program, compiled once per run. In: nothing but a `java`
//! on the PATH. Out: the command of a child. Not here: the scenarios, they are in `java/Peers.java`.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
};

const SOURCE: &str = include_str!("../java/Peers.java");

/// Young enough a generation that its collections stay out of most passes: with a start size of 2g the same pool took
/// twice the time per task in A. Memory that is never touched costs nothing.
const HEAP: [&str; 2] = ["-Xms4g", "-Xmx4g"];

/// A ready `Peers` class (or source) in a directory of its own, removed on drop.
#[derive(Debug)]
pub(crate) struct Jvm {
    dir: PathBuf,
    compiled: bool,
}

impl Jvm {
    /// The error is the reason for which the JVM peers are left out.
    pub(crate) fn prepare() -> Result<Self, String> {
        if !works("java") {
            return Err("no java on the PATH".to_owned());
        }
        let dir = env::temp_dir().join(format!("punctual-bench-{}", process::id()));
        let mut jvm = Jvm { dir, compiled: false };
        jvm.write()
            .map_err(|error| format!("cannot write {}: {error}", jvm.source().display()))?;
        // Without a compiler the launcher compiles the file at every start: slower to begin, the same when warm.
        jvm.compiled = works("javac") && compile(&jvm.dir, &jvm.source())?;
        Ok(jvm)
    }

    fn source(&self) -> PathBuf {
        self.dir.join("Peers.java")
    }

    fn write(&self) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        fs::write(self.source(), SOURCE)
    }

    /// To be followed by scenario, peer and sizes.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("java");
        command.args(HEAP);
        if self.compiled {
            command.arg("-cp").arg(&self.dir).arg("Peers");
        } else {
            command.arg(self.source());
        }
        command
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        // Left behind in the worst case, in a directory that is cleaned anyway.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn works(tool: &str) -> bool {
    let status = Command::new(tool)
        .arg("-version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn compile(dir: &Path, source: &Path) -> Result<bool, String> {
    let output = Command::new("javac").arg("-d").arg(dir).arg(source).output();
    let output = output.map_err(|error| format!("javac did not start: {error}"))?;
    if output.status.success() {
        return Ok(true);
    }
    Err(format!(
        "javac refused Peers.java: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}
