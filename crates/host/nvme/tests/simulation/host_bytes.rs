//! Bytes that hosts wrote, as they wrote them: HBMW, since the target began to serve.

/// The bytes, as far as they are certain.
#[derive(Debug, Default)]
pub struct HostBytes {
    certain: u64,
    /// Of commands that failed or were never answered: counted, in part or not at all.
    unsure: u64,
}

impl HostBytes {
    pub fn wrote(&mut self, bytes: u64) {
        self.certain += bytes;
    }

    pub fn perhaps_wrote(&mut self, bytes: u64) {
        self.unsure += bytes;
    }

    /// The drive has counted as it should, and perhaps some of `zeroing`: of Write Zeroes under way, which count slice by
    /// slice. Where nobody could know, it is believed.
    pub fn check(&mut self, counted: u64, zeroing: u64) -> Result<(), String> {
        let most = self.certain + self.unsure + zeroing;
        if !(self.certain..=most).contains(&counted) {
            return Err(format!(
                "HBMW is {counted}, ought to be {} to {most}",
                self.certain
            ));
        }
        if zeroing == 0 {
            (self.certain, self.unsure) = (counted, 0);
        }
        Ok(())
    }
}
