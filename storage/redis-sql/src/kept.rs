//! A connection that is kept between requests until it breaks.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Requests of an instance run interleaved and share the connection. It is never borrowed while
/// something is waited for: everyone who uses it has a handle of their own.
pub struct Kept<C> {
    kept: RefCell<Option<Rc<C>>>,
    forgotten: Cell<u64>,
}

impl<C> Kept<C> {
    pub const fn none() -> Self {
        Self { kept: RefCell::new(None), forgotten: Cell::new(0) }
    }

    pub fn get(&self) -> Option<Rc<C>> {
        self.kept.borrow().clone()
    }

    /// Keeps a connection that was just opened. When several requests open one at once, the first is
    /// kept and the others' close again.
    pub fn keep(&self, opened: C) -> Rc<C> {
        Rc::clone(self.kept.borrow_mut().get_or_insert_with(|| Rc::new(opened)))
    }

    /// Forgets a connection that is broken, unless another has taken its place by now; says whether
    /// it was still kept.
    pub fn forget(&self, broken: &Rc<C>) -> bool {
        let mut kept = self.kept.borrow_mut();
        let same = kept.as_ref().is_some_and(|kept| Rc::ptr_eq(kept, broken));
        if same {
            *kept = None;
            self.forgotten.set(self.forgotten.get() + 1);
        }
        same
    }

    /// How many connections have been forgotten.
    pub fn forgotten(&self) -> u64 {
        self.forgotten.get()
    }
}
