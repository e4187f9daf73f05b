use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::mem::{align_of, size_of};
use std::num::NonZeroU64;
use std::ptr::NonNull;

use crate::{sys, Epoch, Error, Release, NATURAL_ALIGNMENT};

/// Names an object in a [`Table`]: 64 bits, to be copied and stored at will. It owns nothing.
pub struct Handle<T> {
    id: NonZeroU64,
    kind: PhantomData<fn() -> T>,
}

impl<T> Handle<T> {
    /// The number, to be handed to a script, a client or a file.
    pub fn to_raw(self) -> u64 {
        self.id.get()
    }

    /// The handle of a number; `None` for 0. A made-up one is safe: a table refuses it, or finds an object of its own.
    pub fn from_raw(raw: u64) -> Option<Self> {
        Some(Handle { id: NonZeroU64::new(raw)?, kind: PhantomData })
    }

    fn id(self) -> sys::tslab_handle {
        sys::tslab_handle { id: self.id.get() }
    }
}

// Derived, these would ask the same of T.
impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Handle<T> {}
impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
impl<T> Eq for Handle<T> {}
impl<T> Hash for Handle<T> {
    fn hash<H: Hasher>(&self, to: &mut H) {
        self.id.hash(to);
    }
}
impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Handle({:#x})", self.id)
    }
}

/// Objects with handles, in an epoch of their own. A handle is refused when its object was removed, also after its place
/// was used again, when it is of another table, and when it was made up.
///
/// ```
/// use tslab::Table;
///
/// struct Player {
///     name: &'static str,
///     rival: Option<tslab::Handle<Player>>,
/// }
///
/// let mut level = Table::new();
/// let ada = level.insert(Player { name: "Ada", rival: None });
/// let grace = level.insert(Player { name: "Grace", rival: Some(ada) });
/// level.get_mut(ada).unwrap().rival = Some(grace);
///
/// assert_eq!(level.remove(grace).unwrap().name, "Grace");
/// let rival = level.get(ada).unwrap().rival.unwrap();
/// assert!(level.get(rival).is_none()); // Ada's rival has left
/// ```
///
/// The destructors of objects that are left when the table ends do not run.
pub struct Table<T> {
    epoch: Epoch<Release>,
    owned: PhantomData<*mut T>,
}

// SAFETY: a table owns its objects. insert moves one in by a shared reference, so sharing a table sends objects, too.
unsafe impl<T: Send> Send for Table<T> {}
unsafe impl<T: Send + Sync> Sync for Table<T> {}

impl<T> Table<T> {
    const FITS: () = {
        assert!(align_of::<T>() <= NATURAL_ALIGNMENT, "objects with handles are aligned to 16 bytes at most");
    };

    /// An empty table.
    ///
    /// # Panics
    ///
    /// If there is no memory for an epoch.
    pub fn new() -> Self {
        Table::of(Epoch::new(Release))
    }

    /// A table in an epoch that has options, a label for instance.
    pub fn of(epoch: Epoch<Release>) -> Self {
        Table { epoch, owned: PhantomData }
    }

    /// Moves the value into the table.
    ///
    /// # Panics
    ///
    /// If there is no memory. See [`try_insert`](Table::try_insert).
    pub fn insert(&self, value: T) -> Handle<T> {
        match self.try_insert(value) {
            Ok(handle) => handle,
            Err((_, error)) => panic!("insert an object: {error}"),
        }
    }

    /// Moves the value into the table, or gives it back if there is no memory.
    ///
    /// # Errors
    ///
    /// [`Error::NoMemory`].
    pub fn try_insert(&self, value: T) -> Result<Handle<T>, (T, Error)> {
        const { Self::FITS };
        let mut place = std::ptr::null_mut();
        // SAFETY: the place of the address is valid.
        let handle = unsafe { sys::tslab_handle_malloc(self.epoch.id(), size_of::<T>(), &mut place) };
        let Some(id) = NonZeroU64::new(handle.id) else {
            return Err((value, Error::NoMemory));
        };
        // SAFETY: the place is new, and fits T.
        unsafe { place.cast::<T>().write(value) };
        Ok(Handle { id, kind: PhantomData })
    }

    fn find(&self, handle: Handle<T>) -> Option<NonNull<T>> {
        // SAFETY: a free needs the table for itself, so it comes before this call or after it.
        NonNull::new(unsafe { sys::tslab_handle_get(self.epoch.id(), handle.id()) }).map(NonNull::cast)
    }

    /// The object; `None` for a handle that is refused.
    pub fn get(&self, handle: Handle<T>) -> Option<&T> {
        // SAFETY: all objects of the epoch are of type T, and none ends while the table is borrowed.
        self.find(handle).map(|object| unsafe { object.as_ref() })
    }

    /// The object; `None` for a handle that is refused.
    pub fn get_mut(&mut self, handle: Handle<T>) -> Option<&mut T> {
        // SAFETY: as in `get`, and the table is borrowed for this object alone.
        self.find(handle).map(|mut object| unsafe { object.as_mut() })
    }

    /// Moves the object out of the table; `None` for a handle that is refused.
    pub fn remove(&mut self, handle: Handle<T>) -> Option<T> {
        let object = self.find(handle)?;
        // SAFETY: the object is read once: the handle is refused from now on.
        unsafe {
            let value = object.read();
            let status = sys::tslab_handle_free(self.epoch.id(), handle.id());
            debug_assert_eq!(status, sys::TSLAB_OK);
            Some(value)
        }
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table::new()
    }
}

impl<T> fmt::Debug for Table<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Table").field("epoch", &self.epoch.id().id).finish_non_exhaustive()
    }
}
