//! The verbs that forget: `execute`, `execute_all`.
//!
//! In: closures without a handle. Out: accepted, or given back. A plain one is a record in the queue and nothing else; one that
//! needs more is a block whose handle is gone from the start.

#![allow(unsafe_code)]

use super::{Executor, rejected};
use crate::Rejected;
use crate::pool::admit::Refused;
use crate::pool::reject::Patience;
use crate::task::Class;
use crate::task::block::Options;
use crate::task::record::{Boxed, Inline, Payload, fits_inline};

/// How many closures `execute_all` takes from its iterator at a time.
const PIECE: usize = 256;

impl Executor {
    /// Runs `f` some time soon, and forgets it. If it panics, the pool's failure sink is told.
    #[inline]
    pub fn execute<F>(&self, f: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        if const { fits_inline::<F>() } {
            match self
                .engine()
                .admit_plain(self.is_special(), self.class, Inline::new(f))
            {
                Ok(_) => Ok(()),
                Err(refused) => self.execute_otherwise(refused, Inline::into_inner),
            }
        } else {
            // Boxed before anything is locked.
            match self
                .engine()
                .admit_plain(self.is_special(), self.class, Boxed(Box::new(f)))
            {
                Ok(_) => Ok(()),
                Err(refused) => self.execute_otherwise(refused, |boxed| *boxed.0),
            }
        }
    }

    /// A task that needs more than the common way, or what the pool's policy says to one that was not let in.
    #[cold]
    #[inline(never)]
    fn execute_otherwise<F, P: Payload>(
        &self,
        refused: Refused<P>,
        unwrap: impl FnOnce(P) -> F,
    ) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        if self.is_special() && !self.is_only_recorded() {
            let f = unwrap(refused.payload);
            return if self.engine().is_special() {
                self.execute_with(Options::default(), f)
            } else {
                self.execute_in_view(f)
            };
        }
        let refused = if self.is_special() {
            let at = self.engine().record_tick();
            let Err(refused) = self.engine().admit(self.class, refused.payload) else {
                self.note_submitted::<F>(self.class, None, at);
                return Ok(());
            };
            refused
        } else {
            refused
        };
        match self.engine().answer(self.class, refused, Patience::Policy) {
            Ok(_) => Ok(()),
            Err(refused) => Err(rejected(refused, unwrap)),
        }
    }

    /// Runs all of them, in order. Accepts the prefix that fits, many under one lock; for each of the others it asks the
    /// pool's policy. What is refused comes back, with all that follows, for which the iterator is run to its end. `Ok`:
    /// how many there were.
    pub fn execute_all<F, I>(&self, jobs: I) -> Result<usize, Rejected<Vec<F>>>
    where
        I: IntoIterator<Item = F>,
        F: FnOnce() + Send + 'static,
    {
        let mut jobs = jobs.into_iter();
        let mut accepted = 0;
        loop {
            // A piece at a time: what is accepted does not have to be in memory twice as a whole.
            let piece: Vec<F> = jobs.by_ref().take(PIECE).collect();
            if piece.is_empty() {
                return Ok(accepted);
            }
            accepted += piece.len();
            if let Err(refused) = self.execute_piece(piece) {
                let refused = refused.map(|mut rest| {
                    rest.extend(jobs);
                    rest
                });
                // The first was counted where it was refused.
                let others = refused.task().len() - 1;
                self.engine().count_refused(refused.reason(), others);
                return Err(refused);
            }
        }
    }

    fn execute_piece<F>(&self, piece: Vec<F>) -> Result<(), Rejected<Vec<F>>>
    where
        F: FnOnce() + Send + 'static,
    {
        if self.is_special() {
            let mut piece = piece.into_iter();
            while let Some(f) = piece.next() {
                self.execute_with(Options::default(), f).map_err(|refused| {
                    refused.map(|first| std::iter::once(first).chain(piece.by_ref()).collect())
                })?;
            }
            Ok(())
        } else if const { fits_inline::<F>() } {
            self.admit_piece(piece, Inline::new, Inline::into_inner)
        } else {
            self.admit_piece(piece, |f| Boxed(Box::new(f)), |boxed| *boxed.0)
        }
    }

    fn admit_piece<F, P: Payload>(
        &self,
        piece: Vec<F>,
        wrap: impl FnMut(F) -> P,
        mut unwrap: impl FnMut(P) -> F,
    ) -> Result<(), Rejected<Vec<F>>> {
        let mut payloads = piece.into_iter().map(wrap).collect::<Vec<_>>().into_iter();
        loop {
            let Err(refused) = self.engine().admit_many(self.class, &mut payloads) else {
                return Ok(());
            };
            if let Err(refused) = self.engine().answer(self.class, refused, Patience::Policy) {
                let rest = |first| std::iter::once(first).chain(payloads).map(&mut unwrap).collect();
                return Err(rejected(refused, rest));
            }
        }
    }

    /// A closure with options but without a handle: a block whose handle is gone from the start.
    pub(super) fn execute_with<F, T>(&self, options: Options, f: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let options = match self.prepare(options) {
            Ok(options) => options,
            Err(reason) => return Err(Rejected::new(f, reason)),
        };
        self.execute_block(self.class_with(&options), Some(options), f)
    }

    /// As [`Executor::execute_with`] for a view, without options.
    #[inline]
    fn execute_in_view<F>(&self, f: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        let (_, admitted) = self.enter_view(false, f);
        match admitted {
            Ok(_) => Ok(()),
            Err(refused) => {
                let answered = self.engine().answer(self.class, refused, Patience::Policy);
                // SAFETY: as in `Executor::answer_entry`.
                answered
                    .map(drop)
                    .map_err(|refused| rejected(refused, |entry| unsafe { entry.unmake::<(), F, ()>() }))
            }
        }
    }

    fn execute_block<F, T>(&self, class: Class, options: Option<Options>, f: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let name = options.as_ref().and_then(|options| self.name_for_record(options));
        let entry = self.entry(class, false, options, f);
        let at = self.engine().record_tick();
        let admitted = match self.engine().admit_any(class, entry) {
            Ok(_) => {
                self.note_submitted::<F>(class, name.as_deref(), at);
                Ok(false)
            }
            Err(refused) => self.engine().answer(class, refused, Patience::Policy),
        };
        // SAFETY: as in `Executor::answer_entry`.
        admitted
            .map(drop)
            .map_err(|refused| rejected(refused, |entry| unsafe { entry.unmake::<(), F, T>() }))
    }
}
