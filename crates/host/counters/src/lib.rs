//! Write counters of drives: bytes that hosts wrote, and bytes written to the flash, from the logs and attributes that
//! drives report. Pure: whoever holds the drive or the file fetches the bytes.
//!
//! Each counter that is known is a [`Row`]: the drives that have it, its place, its unit, and the source of all that.
//! [`Amplification::of`] finds a pair of counters in one unit; WAF is their ratio, and without such a pair there is none.
//!
//! ```
//! use anabranch_counters::{Amplification, DriveIdentity, read};
//!
//! // A drive of an unknown vendor that has OCP's log (C0h) beside the SMART log (02h).
//! let mut smart = vec![0; 512];
//! smart[48] = 200; // units of 512,000 bytes
//! let mut ocp = vec![0; 512];
//! ocp[..16].copy_from_slice(&204_800_000_u128.to_le_bytes());
//! ocp[496..].copy_from_slice(&0xafd514c97c6f4f9ca4f2bfea2810afc5_u128.to_le_bytes());
//! let counts = read(&DriveIdentity::default(), |page, _, _| match page {
//!     0x02 => Some(smart.clone()),
//!     0xc0 => Some(ocp.clone()),
//!     _ => None,
//! });
//! let amplification = Amplification::of(&counts);
//! assert_eq!(amplification.host_bytes(), Some(102_400_000));
//! assert_eq!(amplification.waf(), Some(2.0));
//! ```

mod amplification;
mod attributes;
mod count;
mod documents;
mod number;
mod pages;
mod row;

pub use amplification::Amplification;
pub use attributes::ATTRIBUTES;
pub use count::{Count, Quantity, Unit};
pub use documents::{Document, document};
pub use pages::{DriveIdentity, PAGES, missing, read};
pub use row::{Drives, Guard, Place, Row};

/// Every row of the table.
pub fn table() -> impl Iterator<Item = &'static Row> {
    let forms = documents::FORMS.iter().flat_map(|form| form.rows);
    PAGES.iter().chain(ATTRIBUTES).chain(forms)
}
