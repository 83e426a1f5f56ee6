//! Whether a block device that waits for a server may go on with a drive: only if the drive is the one that it was made for,
//! and nobody wrote to it meanwhile. What the device's page cache holds would go over that. Pure.

/// The counter of a drive that tells what hosts wrote to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Host bytes of the FDP statistics (log 22h), exact, of the whole endurance group.
    Placement,
    /// Data units written of the SMART log (02h), of the whole drive.
    Smart,
}

impl Counter {
    /// To how many bytes it is known: a data unit of the SMART log is a thousand blocks of 512 bytes, rounded up.
    fn grain_bytes(self) -> u64 {
        match self {
            Counter::Placement => 0,
            Counter::Smart => 512_000,
        }
    }
}

/// The kernel's counts of a disk's writes. Commands handed through to the drive, as ours are, are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Disk {
    /// Another for each time that the kernel found the drive; never 0.
    pub life: u64,
    /// Sectors of 512 bytes that were written or discarded since it found it.
    pub others_sectors: u64,
}

/// The facts about a drive on which its block device rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// A hash of EUI-64, NGUID and UUID of the namespace; 0 where it has none of them.
    pub unique: u64,
    pub bytes: u64,
    pub block_shift: u8,
    /// Bytes of the largest command.
    pub most_bytes: u32,
    pub volatile_cache: bool,
    /// Nothing where the kernel does not count.
    pub disk: Option<Disk>,
    /// Bytes that hosts wrote, by which counter.
    pub host_bytes: Option<(Counter, u64)>,
}

/// A reason why a block device must not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// It is another drive, in these words: no option makes it the right one.
    Another(String),
    /// It was written, or nothing tells that it was not, in these words.
    Written(String),
}

/// Judges whether a device that was made on the facts `then` may go on with a drive as found `now`. `sent_bytes` are those of
/// all write commands that the device's servers sent; `is_shared`: the drive's counter has other namespaces' writes in it.
pub fn judge(then: &Facts, now: &Facts, sent_bytes: u64, is_shared: bool) -> Result<(), Obstacle> {
    is_same(then, now).map_err(Obstacle::Another)?;
    let is_seen = match (then.disk, now.disk) {
        (Some(then), Some(now)) if then.life == now.life => {
            let sectors = now.others_sectors.saturating_sub(then.others_sectors);
            if sectors > 0 {
                let words = format!("{} bytes past the block device", sectors * 512);
                return Err(Obstacle::Written(words));
            }
            true
        }
        _ => false,
    };
    if !is_seen && now.unique == 0 {
        let words =
            "it was away meanwhile, and without EUI-64, NGUID and UUID it may be another namespace";
        return Err(Obstacle::Written(words.to_owned()));
    }
    match foreign_bytes(then, now, sent_bytes) {
        // Other namespaces' writes are in that counter; the kernel's own counts are of this one.
        Some(_) if is_seen && is_shared => Ok(()),
        Some(0) => Ok(()),
        Some(bytes) => {
            let namespaces = if is_shared {
                ", in this namespace or another"
            } else {
                ""
            };
            Err(Obstacle::Written(format!(
                "by the drive's own count {bytes} bytes more than were sent{namespaces}"
            )))
        }
        None if is_seen => Ok(()),
        None => Err(Obstacle::Written(
            "it was away meanwhile, and its own count of writes does not tell".to_owned(),
        )),
    }
}

fn is_same(then: &Facts, now: &Facts) -> Result<(), String> {
    if then.unique != now.unique {
        return Err("its EUI-64, NGUID or UUID is another".to_owned());
    }
    if then.bytes != now.bytes {
        return Err(format!("it has {} bytes and had {}", now.bytes, then.bytes));
    }
    if then.block_shift != now.block_shift {
        let (now, then) = (
            1_u64 << (now.block_shift & 63),
            1_u64 << (then.block_shift & 63),
        );
        return Err(format!("its blocks have {now} bytes and had {then}"));
    }
    if now.most_bytes < then.most_bytes {
        return Err(format!(
            "it takes commands of {} bytes and took {}",
            now.most_bytes, then.most_bytes
        ));
    }
    // The block layer sends no flushes to a device that was made without a cache.
    if now.volatile_cache && !then.volatile_cache {
        return Err("its cache is volatile and was not".to_owned());
    }
    Ok(())
}

/// Bytes that the drive counts beyond those sent; nothing where its counter is another, or went back.
fn foreign_bytes(then: &Facts, now: &Facts, sent_bytes: u64) -> Option<u64> {
    let ((before, base), (counter, count)) = (then.host_bytes?, now.host_bytes?);
    if before != counter {
        return None;
    }
    let grown = count.checked_sub(base)?;
    Some(grown.saturating_sub(sent_bytes.saturating_add(counter.grain_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts = Facts {
        unique: 7,
        bytes: 1 << 30,
        block_shift: 12,
        most_bytes: 1 << 19,
        volatile_cache: false,
        disk: Some(Disk {
            life: 5,
            others_sectors: 800,
        }),
        host_bytes: Some((Counter::Placement, 1000)),
    };

    /// The verdict on facts of which some have changed, after 4096 bytes were sent.
    fn verdict(change: impl FnOnce(&mut Facts), is_shared: bool) -> Result<(), Obstacle> {
        let mut now = FACTS;
        now.host_bytes = Some((Counter::Placement, 1000 + 4096));
        change(&mut now);
        judge(&FACTS, &now, 4096, is_shared)
    }

    fn is_another(change: impl FnOnce(&mut Facts)) -> bool {
        matches!(verdict(change, false), Err(Obstacle::Another(_)))
    }

    fn is_written(change: impl FnOnce(&mut Facts), is_shared: bool) -> bool {
        matches!(verdict(change, is_shared), Err(Obstacle::Written(_)))
    }

    const AWAY: Option<Disk> = Some(Disk {
        life: 6,
        others_sectors: 0,
    });

    #[test]
    fn a_drive_that_only_its_server_wrote_to_is_gone_on_with() {
        assert_eq!(verdict(|_| {}, false), Ok(()));
        // Killed before the drive had done all that was sent.
        assert_eq!(
            verdict(
                |now| now.host_bytes = Some((Counter::Placement, 1000)),
                false
            ),
            Ok(())
        );
        // Away and back, with the same count.
        assert_eq!(verdict(|now| now.disk = AWAY, false), Ok(()));
        // Nothing but the kernel counts.
        assert_eq!(verdict(|now| now.host_bytes = None, false), Ok(()));
        // A limit that grew, a cache that is safe now.
        assert_eq!(verdict(|now| now.most_bytes *= 2, false), Ok(()));
    }

    #[test]
    fn each_fact_that_makes_it_another_drive_is_an_obstacle() {
        assert!(is_another(|now| now.unique = 8));
        assert!(is_another(|now| now.unique = 0));
        assert!(is_another(|now| now.bytes -= 4096));
        assert!(is_another(|now| now.bytes += 4096));
        assert!(is_another(|now| now.block_shift = 9));
        assert!(is_another(|now| now.most_bytes /= 2));
        assert!(is_another(|now| now.volatile_cache = true));
    }

    #[test]
    fn writes_of_others_are_an_obstacle_by_the_kernels_count_and_by_the_drives() {
        let sector = |now: &mut Facts| {
            now.disk = Some(Disk {
                life: 5,
                others_sectors: 801,
            });
        };
        assert!(is_written(sector, false) && is_written(sector, true));
        let byte = |now: &mut Facts| now.host_bytes = Some((Counter::Placement, 1000 + 4097));
        assert!(is_written(byte, false));
        // Another namespace's writes are no obstacle where the kernel saw all of this one's.
        assert!(!is_written(byte, true));
        let away = |now: &mut Facts| {
            byte(now);
            now.disk = AWAY;
        };
        assert!(is_written(away, true));
    }

    #[test]
    fn what_nothing_tells_is_an_obstacle() {
        let silent = |now: &mut Facts| (now.disk, now.host_bytes) = (None, None);
        assert!(is_written(silent, false));
        let went_back = |now: &mut Facts| {
            (now.disk, now.host_bytes) = (AWAY, Some((Counter::Placement, 999)));
        };
        assert!(is_written(went_back, false));
        let other = |now: &mut Facts| {
            (now.disk, now.host_bytes) = (AWAY, Some((Counter::Smart, 1000)));
        };
        assert!(is_written(other, false));
        // The kernel found a namespace anew that has no name of its own.
        let (mut then, mut now) = (FACTS, FACTS);
        (then.unique, now.unique, now.disk) = (0, 0, AWAY);
        assert!(judge(&then, &now, 0, false).is_err());
        now.disk = then.disk;
        assert_eq!(judge(&then, &now, 0, false), Ok(()));
    }

    #[test]
    fn data_units_are_rounded_and_no_obstacle_within_one() {
        let (mut then, mut now) = (FACTS, FACTS);
        (then.disk, now.disk) = (None, None);
        then.host_bytes = Some((Counter::Smart, 0));
        now.host_bytes = Some((Counter::Smart, 512_000));
        assert_eq!(judge(&then, &now, 0, false), Ok(()));
        now.host_bytes = Some((Counter::Smart, 2 * 512_000));
        assert!(judge(&then, &now, 0, false).is_err());
        assert_eq!(judge(&then, &now, 512_000, false), Ok(()));
    }
}
