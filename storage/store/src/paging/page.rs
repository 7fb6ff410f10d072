//! A page: immutable content that is in memory or can be read again, as the pager decides.
//!
//! ```text
//! made in memory ──> unstored ──(a checkpoint keeps it)──> stored, in memory <──(read / evicted)──> stored, away
//! ```
//! A reader gets a [`Read`], which keeps its content alive and never blocks the hand: an evicted page is freed when its last reader lets go. A
//! [`Pin`] keeps a page in memory for long, for views that hand out slices. Cost of a read: an atomic pointer read and a mark; no reference count
//! that other readers touch.

use crate::StoreError;
use crate::paging::pager::{Evict, Pager, SweepOutcome};
use crate::paging::source::{BlobKey, ChunkSource};
use arc_swap::{ArcSwapOption, Guard};
use model::walk;
use parking_lot::{Mutex, MutexGuard};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How often a reader that waits for a page that another loads checks whether its statement is over.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The content of a page.
pub(crate) trait Paged: Send + Sync + Sized + 'static {
    /// Facts about it that are known without loading it, and checked when it is loaded.
    type Known: Send + Sync;
    /// The bytes that [`Paged::decode`] takes: all of the blob, unless the page is a part of it.
    fn read_stored(
        source: &dyn ChunkSource,
        blob: BlobKey,
        known: &Self::Known,
    ) -> Result<Vec<u8>, StoreError> {
        let _ = known;
        source.read(blob)
    }
    fn decode(bytes: &[u8], known: &Self::Known) -> Result<Self, StoreError>;
    fn heap_bytes(&self) -> usize;
}

pub(crate) struct Page<T: Paged> {
    content: ArcSwapOption<T>,
    pub(crate) known: T::Known,
    blob: OnceLock<BlobKey>,
    /// Bytes of the content while it is in memory.
    bytes: AtomicUsize,
    /// Bytes of the content when it was in memory last; 0 before the first time.
    bytes_before: AtomicUsize,
    /// Was it read since the hand came by?
    mark: AtomicBool,
    /// Pins. Held while the content comes or goes.
    pins: Mutex<usize>,
    pager: Arc<Pager>,
}

/// The content of a page, alive as long as this is.
pub(crate) struct Read<T>(Guard<Option<Arc<T>>>);

impl<T> Deref for Read<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        self.shared()
    }
}

impl<T> Read<T> {
    /// Content that is in memory anyway.
    pub(crate) fn resident(content: &Arc<T>) -> Read<T> {
        Read(Guard::from_inner(Some(content.clone())))
    }
    #[inline(always)]
    pub(crate) fn shared(&self) -> &Arc<T> {
        self.0.as_ref().expect("only made of content in memory")
    }
}

impl<T: Paged> Page<T> {
    /// A page that is not stored yet.
    pub(crate) fn new(content: Arc<T>, known: T::Known, pager: &Arc<Pager>) -> Arc<Page<T>> {
        let bytes = content.heap_bytes();
        pager.pages.fetch_add(bytes, Ordering::Relaxed);
        pager.unstored.fetch_add(bytes, Ordering::Relaxed);
        Arc::new(Page {
            content: ArcSwapOption::from(Some(content)),
            known,
            blob: OnceLock::new(),
            bytes: AtomicUsize::new(bytes),
            bytes_before: AtomicUsize::new(bytes),
            mark: AtomicBool::new(true),
            pins: Mutex::new(0),
            pager: pager.clone(),
        })
    }
    /// A page that can be read from the pager's source.
    pub(crate) fn stored(blob: BlobKey, known: T::Known, pager: &Arc<Pager>) -> Arc<Page<T>> {
        Arc::new(Page {
            content: ArcSwapOption::empty(),
            known,
            blob: OnceLock::from(blob),
            bytes: AtomicUsize::new(0),
            bytes_before: AtomicUsize::new(0),
            mark: AtomicBool::new(false),
            pins: Mutex::new(0),
            pager: pager.clone(),
        })
    }
    pub(crate) fn pager(&self) -> &Arc<Pager> {
        &self.pager
    }
    pub(crate) fn blob(&self) -> Option<BlobKey> {
        self.blob.get().copied()
    }
    /// The content is stored from now on, and may be evicted.
    pub(crate) fn set_stored(self: &Arc<Page<T>>, blob: BlobKey) {
        if self.blob.set(blob).is_ok() {
            self.pager.unstored.fetch_sub(self.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
            let page: Arc<dyn Evict> = self.clone();
            self.pager.enter(Arc::downgrade(&page));
        }
    }
    /// Bytes of the content when it was in memory last; 0 where it never was.
    pub(crate) fn bytes_before(&self) -> usize {
        self.bytes_before.load(Ordering::Relaxed)
    }
    /// The content, loaded if need be.
    #[inline]
    pub(crate) fn read(self: &Arc<Page<T>>) -> Result<Read<T>, StoreError> {
        match self.read_loaded() {
            Some(read) => Ok(read),
            None => self.load(),
        }
    }
    /// The content if it is in memory.
    #[inline]
    pub(crate) fn read_loaded(&self) -> Option<Read<T>> {
        let content = self.content.load();
        content.as_ref()?;
        if !self.mark.load(Ordering::Relaxed) {
            self.mark.store(true, Ordering::Relaxed);
        }
        Some(Read(content))
    }
    pub(crate) fn is_loaded(&self) -> bool {
        self.content.load().is_some()
    }
    /// Does a pin keep it in memory? Who holds the lock of the pins counts as one.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pins.try_lock().is_none_or(|pins| *pins > 0)
    }
    /// Another reader may load it meanwhile, perhaps from a machine that is lost: a waiting reader ends when its own statement does.
    fn pins(&self) -> Result<MutexGuard<'_, usize>, StoreError> {
        loop {
            match self.pins.try_lock_for(LOOK_EVERY) {
                Some(pins) => return Ok(pins),
                None => walk::check()?,
            }
        }
    }
    #[cold]
    fn load(self: &Arc<Page<T>>) -> Result<Read<T>, StoreError> {
        let (Some(source), Some(blob)) = (self.pager.source(), self.blob.get()) else {
            return Err(StoreError::corrupt("a page is neither in memory nor stored"));
        };
        // Before the lock: another query of this thread may read the same page.
        source.wait_for(*blob)?;
        let pins = self.pins()?;
        let content = self.content.load();
        if content.is_some() {
            return Ok(Read(content));
        }
        let loaded = Arc::new(T::decode(&T::read_stored(&**source, *blob, &self.known)?, &self.known)?);
        let bytes = loaded.heap_bytes();
        self.bytes.store(bytes, Ordering::Relaxed);
        self.bytes_before.store(bytes, Ordering::Relaxed);
        self.pager.pages.fetch_add(bytes, Ordering::Relaxed);
        self.pager.loads.fetch_add(1, Ordering::Relaxed);
        self.mark.store(true, Ordering::Relaxed);
        self.content.store(Some(loaded));
        let content = self.content.load();
        drop(pins);
        let page: Arc<dyn Evict> = self.clone();
        self.pager.enter(Arc::downgrade(&page));
        Ok(Read(content))
    }
    /// The key of the content, where a read would wait for another machine.
    pub(crate) fn away_key(&self) -> Option<BlobKey> {
        if self.is_away() { self.blob.get().copied() } else { None }
    }
    /// Would a read wait for another machine?
    pub(crate) fn is_away(&self) -> bool {
        self.content.load().is_none() && self.pager.source().is_some_and(|source| source.is_remote())
    }
    /// The content if it is in memory; sets no mark.
    pub(crate) fn peek(&self) -> Option<Read<T>> {
        let content = self.content.load();
        content.is_some().then_some(Read(content))
    }
    /// Keeps the page in memory, if the pager has room for it. A page that is away, and is known to be too large, is not loaded for that.
    pub(crate) fn pin(self: &Arc<Page<T>>) -> Result<Option<Pinned<T>>, StoreError> {
        if !self.is_loaded() && !self.pager.may_pin(self.bytes_before.load(Ordering::Relaxed)) {
            return Ok(None);
        }
        let read = self.read()?;
        let mut pins = self.pins()?;
        // It may have left meanwhile; then it is under pressure, and not worth a pin.
        if self.content.load().is_none() {
            return Ok(None);
        }
        let bytes = self.bytes.load(Ordering::Relaxed);
        if *pins == 0 {
            if !self.pager.may_pin(bytes) {
                return Ok(None);
            }
            self.pager.pinned.fetch_add(bytes, Ordering::Relaxed);
        }
        *pins += 1;
        Ok(Some((Pin(self.clone()), read)))
    }
}

impl<T: Paged> Evict for Page<T> {
    fn turn(&self) -> SweepOutcome {
        if self.mark.swap(false, Ordering::Relaxed) {
            return SweepOutcome::Stays;
        }
        let Some(pins) = self.pins.try_lock() else { return SweepOutcome::Stays };
        if *pins > 0 {
            return SweepOutcome::Stays;
        }
        if self.content.swap(None).is_some() {
            self.pager.pages.fetch_sub(self.bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
        SweepOutcome::Left
    }
}

impl<T: Paged> Drop for Page<T> {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        self.pager.pages.fetch_sub(bytes, Ordering::Relaxed);
        if self.blob.get().is_none() {
            self.pager.unstored.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

/// A pinned page, and its content.
pub(crate) type Pinned<T> = (Pin<T>, Read<T>);

/// Keeps a page in memory.
pub(crate) struct Pin<T: Paged>(Arc<Page<T>>);

impl<T: Paged> Drop for Pin<T> {
    fn drop(&mut self) {
        let mut pins = self.0.pins.lock();
        *pins -= 1;
        if *pins == 0 {
            self.0.pager.pinned.fetch_sub(self.0.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}
