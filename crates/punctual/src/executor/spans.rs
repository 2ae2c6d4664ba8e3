//! Spans of `tracing` for tasks; feature `tracing`.
//!
//! In: a pool that is to have them. Out: each task runs in a span of its own, below the one in which it was submitted: direct,
//! delayed, repeating tasks and futures alike. Made of a decorator like any user's, under the key `tracing`. Where no
//! subscriber wants them the spans are disabled ones, which do nothing.

use crate::PoolBuilder;
use crate::task::{Here, here};
use tracing::Span;

/// The key under which [`PoolBuilder::tracing`] decorates.
const KEY: &str = "tracing";

/// What a task, or all runs of a schedule, were submitted in.
struct Context {
    parent: Span,
    /// Of the task that ran last: a future is polled in one span, each run of a schedule has its own.
    last: Option<(u64, Span)>,
}

impl Context {
    fn span(&mut self, pool: &str) -> &Span {
        let (id, name, type_name) = here(|here| match here {
            Here::Inside(frame) => {
                let task = frame.info();
                (task.id, task.name.map(str::to_owned), task.type_name)
            }
            Here::Outside => (0, None, ""),
        });
        if self.last.as_ref().is_none_or(|(last, _)| *last != id) {
            let name = name.as_deref().unwrap_or(type_name);
            let span =
                tracing::info_span!(target: "punctual", parent: &self.parent, "task", pool, id, task = name);
            span.follows_from(&self.parent);
            self.last = Some((id, span));
        }
        self.last.as_ref().map_or(&self.parent, |(_, span)| span)
    }
}

impl PoolBuilder {
    /// A `tracing` span for each task, named `task`, target `punctual`, with the fields `pool`, `id` and `task` (its name, or
    /// the type of its closure); its parent is the span that was current at submission. A future is in it during each poll,
    /// each run of a schedule gets one. A [keyed](PoolBuilder::decorate_keyed) decorator: the key is `tracing`.
    ///
    /// ```
    /// let pool = punctual::Pool::builder("web").core_threads(1).tracing().build()?;
    /// let _request = tracing::info_span!("request").entered();
    /// pool.execute(|| tracing::info!("inside: request, task"))?;
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn tracing(self) -> Self {
        let pool = self.pool_name();
        let capture = || Context {
            parent: Span::current(),
            last: None,
        };
        self.decorate_keyed(KEY, capture, move |context: &mut Context, run| {
            let span = context.span(&pool).clone();
            span.in_scope(run);
        })
    }
}
