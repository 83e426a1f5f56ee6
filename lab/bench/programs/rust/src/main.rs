//! Stores written in Rust, each with every key once and then skewed keys again and again: stores parity-db|persy|redb|sled DIRECTORY
use std::path::Path;

const VALUE_BYTES: usize = 1000;

/// Seeded noise: where a row's value begins in it, and which row comes next.
struct Draw {
    state: u64,
    noise: Vec<u8>,
}

impl Draw {
    fn new() -> Self {
        let mut draw = Self {
            state: 1,
            noise: Vec::new(),
        };
        draw.noise = (0..1 << 17)
            .flat_map(|_| draw.next().to_le_bytes())
            .collect();
        draw
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn value(&mut self, bytes: usize) -> &[u8] {
        let from = self.next() as usize % (self.noise.len() - bytes);
        &self.noise[from..from + bytes]
    }

    /// The row that a change is of: first each of `keys` once, then those of low numbers oftener.
    fn row(&mut self, at: u64, keys: u64) -> u64 {
        if at < keys {
            at
        } else {
            (keys as f64 * self.unit() * self.unit()) as u64
        }
    }
}

/// Changes rows of `keys` in batches: first each once, then those of low numbers oftener; of ten values one is ten times as long.
fn work(
    keys: u64,
    changes: u64,
    batch: u64,
    mut commit: impl FnMut(&mut dyn FnMut(&mut dyn FnMut([u8; 8], &[u8]))),
) {
    let mut draw = Draw::new();
    for step in (0..keys + changes).step_by(batch as usize) {
        commit(&mut |put| {
            for at in step..step + batch {
                let row = draw.row(at, keys);
                let bytes = if row % 10 == 9 {
                    10 * VALUE_BYTES
                } else {
                    VALUE_BYTES
                };
                put((row * 7919 % keys).to_be_bytes(), draw.value(bytes));
            }
        });
    }
}

/// Changes rows of `keys` in batches, of any length up to 16 KiB and most of them short: first each once, then those of low
/// numbers oftener; of six changes one takes the row away.
fn churn(
    keys: u64,
    changes: u64,
    batch: u64,
    mut commit: impl FnMut(&mut dyn FnMut(&mut dyn FnMut(u64, Option<&[u8]>))),
) {
    let mut draw = Draw::new();
    for step in (0..keys + changes).step_by(batch as usize) {
        commit(&mut |change| {
            for at in step..step + batch {
                let row = draw.row(at, keys);
                let bytes = (100.0 * 160f64.powf(draw.unit() * draw.unit())) as usize;
                let gone = at >= keys && draw.unit() < 1.0 / 6.0;
                change(row * 7919 % keys, (!gone).then(|| draw.value(bytes)));
            }
        });
    }
}

fn persy(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    persy::Persy::create(path)?;
    let mut config = persy::Config::new();
    config.change_cache_size(16 << 20);
    let store = persy::Persy::open(&path, config)?;
    let mut transaction = store.begin()?;
    transaction.create_segment("rows")?;
    transaction.create_index::<u64, persy::PersyId>("by key", persy::ValueMode::Replace)?;
    transaction.prepare()?.commit()?;
    churn(80_000, 45_000, 100, |fill| {
        let mut transaction = store.begin().unwrap();
        fill(&mut |key, value| {
            let found: Option<persy::PersyId> = transaction.one("by key", &key).unwrap();
            match (found, value) {
                (Some(id), Some(value)) => transaction.update("rows", &id, value).unwrap(),
                (None, Some(value)) => {
                    let id = transaction.insert("rows", value).unwrap();
                    transaction.put("by key", key, id).unwrap();
                }
                (Some(id), None) => {
                    transaction.delete("rows", &id).unwrap();
                    transaction
                        .remove::<u64, persy::PersyId>("by key", key, None)
                        .unwrap();
                }
                (None, None) => {}
            }
        });
        transaction.prepare().unwrap().commit().unwrap();
    });
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, store, directory] = arguments.as_slice() else {
        return Err("use: stores parity-db|persy|redb|sled DIRECTORY".into());
    };
    let path = Path::new(directory).join(store);
    match store.as_str() {
        "parity-db" => {
            let store = parity_db::Db::open_or_create(&parity_db::Options::with_columns(&path, 1))?;
            churn(90_000, 600_000, 250, |fill| {
                let mut transaction = Vec::new();
                fill(&mut |key, value| {
                    transaction.push((0, key.to_be_bytes(), value.map(<[u8]>::to_vec)));
                });
                store.commit(transaction).unwrap();
            });
        }
        "persy" => persy(&path)?,
        "redb" => {
            const ROWS: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("rows");
            let store = redb::Database::builder()
                .set_cache_size(16 << 20)
                .create(path)?;
            work(60_000, 150_000, 250, |fill| {
                let transaction = store.begin_write().unwrap();
                {
                    let mut table = transaction.open_table(ROWS).unwrap();
                    fill(&mut |key, value| drop(table.insert(key.as_slice(), value).unwrap()));
                }
                transaction.commit().unwrap();
            });
        }
        "sled" => {
            let store = sled::Config::new()
                .path(path)
                .cache_capacity(16 << 20)
                .segment_size(512 << 10)
                .flush_every_ms(Some(500))
                .open()?;
            work(30_000, 300_000, 250, |fill| {
                fill(&mut |key, value| drop(store.insert(key, value).unwrap()));
            });
        }
        _ => return Err(format!("unknown store: {store}").into()),
    }
    Ok(())
}
