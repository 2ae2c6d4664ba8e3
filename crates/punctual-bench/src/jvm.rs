//! The JVM peers: two Java source files, carried inside this program, compiled once per run. In: nothing but a `java`
//! on the PATH. Out: the command of a child. Not here: the scenarios, they are in `java/Peers.java` and, for all that
//! knows time, `java/Timers.java`.

use std::{
    env, fs, io,
    path::PathBuf,
    process::{self, Command, Stdio},
};

use crate::catalog::Scenario;

/// Class and text. Each stands alone, since a JVM without a compiler takes only one file.
const SOURCES: [(&str, &str); 2] = [
    (POOLS, include_str!("../java/Peers.java")),
    (TIMERS, include_str!("../java/Timers.java")),
];
const POOLS: &str = "Peers";
const TIMERS: &str = "Timers";

/// Young enough a generation that its collections stay out of most passes: with a start size of 2g the same pool took
/// twice the time per task in A. Memory that is never touched costs nothing.
const HEAP: [&str; 2] = ["-Xms4g", "-Xmx4g"];

/// Ready classes (or sources) in a directory of its own, removed on drop.
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
            .map_err(|error| format!("cannot write to {}: {error}", jvm.dir.display()))?;
        // Without a compiler the launcher compiles the file at every start: slower to begin, the same when warm.
        jvm.compiled = works("javac") && jvm.compile()?;
        Ok(jvm)
    }

    fn source(&self, class: &str) -> PathBuf {
        self.dir.join(format!("{class}.java"))
    }

    fn write(&self) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        SOURCES
            .iter()
            .try_for_each(|(class, text)| fs::write(self.source(class), text))
    }

    fn compile(&self) -> Result<bool, String> {
        let sources = SOURCES.map(|(class, _)| self.source(class));
        let output = Command::new("javac")
            .arg("-d")
            .arg(&self.dir)
            .args(sources)
            .output();
        let output = output.map_err(|error| format!("javac did not start: {error}"))?;
        if output.status.success() {
            return Ok(true);
        }
        Err(format!(
            "javac refused the peers: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))
    }

    /// To be followed by scenario, peer and sizes.
    pub(crate) fn command(&self, scenario: Scenario) -> Command {
        let class = if scenario.is_timed() { TIMERS } else { POOLS };
        let mut command = Command::new("java");
        command.args(HEAP);
        if self.compiled {
            command.arg("-cp").arg(&self.dir).arg(class);
        } else {
            command.arg(self.source(class));
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
