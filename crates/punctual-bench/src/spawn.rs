//! Starting children and hearing their answers. In: a scenario, a peer, sizes. Out: the values of the scenario's
//! metrics, or the reason why there are none. Not here: order and rounds, see `run`.

use std::{
    env,
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use crate::{
    catalog::{Kind, Peer, Scenario, Sizes},
    child,
    contend::CAP_VARIABLE,
    jvm::Jvm,
    measure::elastic::CAP,
    proc::Usage,
};

/// Ten times what the slowest peer needs for the largest size: a child that is not back by then hangs.
const PATIENCE: Duration = Duration::from_secs(180);

/// K: the workers go to sleep, and a fresh JVM ends most of its compiling.
const SETTLE: Duration = Duration::from_millis(500);

pub(crate) type Answer = Result<Vec<Option<f64>>, String>;

/// Knows how each peer is started.
#[derive(Debug)]
pub(crate) struct Spawner {
    jvm: Option<Jvm>,
}

impl Spawner {
    pub(crate) fn new(jvm: Option<Jvm>) -> Self {
        Spawner { jvm }
    }

    pub(crate) fn can_run(&self, peer: Peer) -> bool {
        peer.kind() != Kind::Jvm || self.jvm.is_some()
    }

    fn command(&self, scenario: Scenario, peer: Peer, sizes: Sizes) -> Result<Command, String> {
        let mut command = match (peer.kind(), &self.jvm) {
            (Kind::Jvm, Some(jvm)) => jvm.command(scenario),
            (Kind::Jvm, None) => return Err("no JVM".to_owned()),
            _ => {
                let this =
                    env::current_exe().map_err(|error| format!("this program's path is unknown: {error}"))?;
                let mut command = Command::new(this);
                command.arg("child");
                command
            }
        };
        command
            .args([scenario.id(), peer.name(), &sizes.to_string()])
            .env(CAP_VARIABLE, CAP.to_string())
            .stdout(Stdio::piped());
        Ok(command)
    }

    /// One child, start to end.
    pub(crate) fn measure(&self, scenario: Scenario, peer: Peer, sizes: Sizes) -> Answer {
        let mut running = Running::start(self.command(scenario, peer, sizes)?.stdin(Stdio::null()))?;
        let output = running.rest_of_output()?;
        child::parse_answer(&output, scenario.metrics())
    }

    /// Scenario K: all peers at once, since an idle process disturbs nobody, each watched from outside.
    pub(crate) fn watch_idle(
        &self,
        scenario: Scenario,
        watch: Duration,
        peers: &[Peer],
        sizes: Sizes,
    ) -> Vec<(Peer, Answer)> {
        let mut ready: Vec<(Peer, Result<Running, String>)> = peers
            .iter()
            .map(|peer| (*peer, self.idle_child(scenario, *peer, sizes)))
            .collect();
        thread::sleep(SETTLE);
        let looks = |ready: &[(Peer, Result<Running, String>)]| -> Vec<Result<(Usage, Instant), String>> {
            ready
                .iter()
                .map(|(_, child)| child.as_ref().map_err(Clone::clone)?.look())
                .collect()
        };
        let before = looks(&ready);
        thread::sleep(watch);
        let after = looks(&ready);
        let answers = before.into_iter().zip(after).map(|(before, after)| {
            let ((before, from), (after, to)) = (before?, after?);
            // The calendar's bound is said for the whole time: to count to 1 and not to 0.033.
            let (switches, cpu) = if scenario == Scenario::KCalendar {
                after.since(&before)
            } else {
                after.per_second_since(&before, to - from)
            };
            Ok(vec![Some(switches), Some(cpu)])
        });
        ready
            .drain(..)
            .map(|(peer, _)| peer)
            .zip(answers.collect::<Vec<Answer>>())
            .collect()
    }

    fn idle_child(&self, scenario: Scenario, peer: Peer, sizes: Sizes) -> Result<Running, String> {
        let mut running = Running::start(self.command(scenario, peer, sizes)?.stdin(Stdio::piped()))?;
        let line = running.next_line()?;
        if line.trim() == child::READY {
            Ok(running)
        } else {
            Err(format!("not ready, said {line:?}"))
        }
    }
}

/// A started child. Dropping it ends it: nothing outlives the bench.
#[derive(Debug)]
struct Running {
    child: Child,
    lines: Option<BufReader<ChildStdout>>,
}

impl Running {
    fn start(command: &mut Command) -> Result<Self, String> {
        let mut child = command
            .spawn()
            .map_err(|error| format!("did not start: {error}"))?;
        let lines = child.stdout.take().map(BufReader::new);
        Ok(Running { child, lines })
    }

    fn next_line(&mut self) -> Result<String, String> {
        self.read(|output, text| output.read_line(text))
    }

    fn rest_of_output(&mut self) -> Result<String, String> {
        let text = self.read(|output, text| output.read_to_string(text))?;
        let status = self
            .child
            .wait()
            .map_err(|error| format!("cannot be waited for: {error}"))?;
        if status.success() {
            Ok(text)
        } else {
            Err(format!("ended with {status}"))
        }
    }

    /// A read that gives up after [`PATIENCE`]. A pipe has no timeout of its own, so a thread reads; when it is late
    /// the child is killed (by drop) and the thread ends with the pipe.
    fn read(
        &mut self,
        take: impl FnOnce(&mut BufReader<ChildStdout>, &mut String) -> std::io::Result<usize> + Send + 'static,
    ) -> Result<String, String> {
        let mut output = self.lines.take().ok_or("its output is closed")?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut text = String::new();
            let result = take(&mut output, &mut text).map(|_| text);
            // Nobody listens any more when it was late.
            let _ = sender.send((result, output));
        });
        let (result, output) = receiver
            .recv_timeout(PATIENCE)
            .map_err(|_| format!("no answer within {} s", PATIENCE.as_secs()))?;
        self.lines = Some(output);
        result.map_err(|error| format!("its output cannot be read: {error}"))
    }

    fn look(&self) -> Result<(Usage, Instant), String> {
        let usage = Usage::of(self.child.id()).map_err(|error| format!("cannot be watched: {error}"))?;
        Ok((usage, Instant::now()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
