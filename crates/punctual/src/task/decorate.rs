//! Context propagation: captured at submission, put round the run.
//!
//! In: pairs of functions from the builder. Out: for each task, what every `capture` gave at its submission, and the
//! body run inside every `around`. A decorator never holds the closure: it is given a `&mut dyn FnMut()` that runs it, so
//! scoped tasks stay sound and nothing is boxed twice. The first registered is the outermost.

use super::contain;
use std::any::Any;
use std::fmt;

/// What the decorators captured for one task, in their order.
pub(crate) struct Contexts(Vec<Box<dyn Any + Send>>);

impl fmt::Debug for Contexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Contexts({})", self.0.len())
    }
}

type Capture = Box<dyn Fn() -> Box<dyn Any + Send> + Send + Sync>;
type Around = Box<dyn Fn(&mut (dyn Any + Send), &mut dyn FnMut()) + Send + Sync>;

struct Decorator {
    key: Option<&'static str>,
    capture: Capture,
    around: Around,
}

/// The decorators of a pool.
#[derive(Default)]
pub(crate) struct Decorators(Vec<Decorator>);

impl Decorators {
    /// Adds one; the same key replaces in place.
    pub(crate) fn add<C: Send + 'static>(
        &mut self,
        key: Option<&'static str>,
        capture: impl Fn() -> C + Send + Sync + 'static,
        around: impl Fn(&mut C, &mut dyn FnMut()) + Send + Sync + 'static,
    ) {
        let decorator = Decorator {
            key,
            capture: Box::new(move || Box::new(capture())),
            around: Box::new(move |context, run| {
                let context = context
                    .downcast_mut::<C>()
                    .expect("captured by its own decorator");
                around(context, run);
            }),
        };
        match self.0.iter_mut().find(|each| key.is_some() && each.key == key) {
            Some(place) => *place = decorator,
            None => self.0.push(decorator),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|each| each.key != Some(key));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a task submitted now will run in. A `capture` that panics does so on the submitter, before anything was
    /// accepted.
    pub(crate) fn capture(&self) -> Contexts {
        Contexts(self.0.iter().map(|each| (each.capture)()).collect())
    }

    /// Runs `body` inside every decorator. The body runs at most once, whatever they do. What a decorator panics with
    /// passes through.
    pub(crate) fn run(&self, contexts: &mut Contexts, body: impl FnOnce()) {
        let mut body = Some(body);
        let mut once = || {
            if let Some(body) = body.take() {
                body();
            }
        };
        nest(&self.0, &mut contexts.0, &mut once);
    }
}

impl Drop for Contexts {
    fn drop(&mut self) {
        // One by one: each may panic on its own.
        for context in self.0.drain(..) {
            contain(|| drop(context));
        }
    }
}

fn nest(decorators: &[Decorator], contexts: &mut [Box<dyn Any + Send>], body: &mut dyn FnMut()) {
    match (decorators.split_first(), contexts.split_first_mut()) {
        (Some((first, rest)), Some((context, others))) => {
            (first.around)(&mut **context, &mut || nest(rest, others, body));
        }
        _ => body(),
    }
}

impl fmt::Debug for Decorators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|each| each.key))
            .finish()
    }
}
