//! The steady state takes no memory from the heap: counted, not believed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::support::run;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[expect(unsafe_code, reason = "an allocator that counts must implement the unsafe trait")]
// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn allocations(iterations: u32) -> u64 {
    let before = COUNT.with(Cell::get);
    let totals = run(&format!("vus: 1\niterations: {iterations}\nsteps:\n  a: {{ http: http://x/a }}"), OK);
    assert_eq!(totals.iterations.completed, u64::from(iterations));
    COUNT.with(Cell::get) - before
}

#[test]
fn a_request_of_the_steady_state_allocates_nothing() {
    allocations(100); // what is made once per process
    let (few, many) = (allocations(1_000), allocations(21_000));
    // A slow request may be the first to use a power of two of a histogram, which is made then: at most 40 each.
    assert!(many.saturating_sub(few) < 200, "{few} for 1 000 requests, {many} for 21 000");
}
