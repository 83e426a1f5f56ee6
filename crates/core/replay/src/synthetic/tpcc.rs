//! TPC-C on InnoDB, on a drive that the database fills.
//!
//! Published (TPC-C, revision 5.11): the tables with their rows a warehouse and the bytes of a row (clause 1.2.1), how numbers
//! are drawn unevenly (2.1.6), what each transaction changes (2.4 to 2.8) and how often each comes (5.2.3). Order-status and
//! stock-level only read. A hundredth of the new orders are rolled back (2.4.1.4), which is left out.
//!
//! Our choice: InnoDB as in `mysql-ycsb`; rows lie by their keys, as many a page as their bytes allow, those of the history in
//! the order in which they came; no second indices. As many warehouses as fit; what is left of the drive is for more
//! orders than the 3,000 a district begins with. New orders, their lines and payments take the places of the oldest, so that
//! the database stays as large as the drive. The constants of clause 2.1.6 are drawn by the seed. Three customers of a district
//! have each of the 1,000 last names (4.3.3.1), and one of them is drawn where the clause takes the middle one by first name.
//! Deliveries take the oldest of 900 orders that wait in a district, as many as there are at first. An order has room for the
//! mean of ten lines. Hints tell the tables from the rest.

use std::collections::VecDeque;

use anabranch_trace::{ContextKind, Tables};

use super::{
    LoadKind, LoadRequests, Make, PAGE_BYTES, Plan,
    mysql::{BLOCK, DIRTY, InnoDb},
    tables,
};
use crate::draw::Draw;

/// TPC-C on MySQL.
pub(super) const TPCC: LoadKind = LoadKind {
    name: "mysql-tpcc",
    summary: "TPC-C on InnoDB: new orders, payments and deliveries, doublewrite buffer and log",
    least_bytes: 128 << 20,
    settings: &[DIRTY],
    tables: tpcc_tables,
    make: Make::Rule(tpcc),
};

/// Clause 1.2.1: bytes of a row.
const WAREHOUSE: u64 = 89;
const DISTRICT: u64 = 95;
const CUSTOMER: u64 = 655;
const HISTORY: u64 = 46;
const ORDER: u64 = 24;
const NEW_ORDER: u64 = 8;
const ORDER_LINE: u64 = 54;
const STOCK: u64 = 306;
const ITEM: u64 = 82;
/// Clause 1.2.1: districts of a warehouse, customers and orders of a district, orders of it that wait, lines of an order
/// in the mean, and items, of which each warehouse has a stock.
const DISTRICTS: u64 = 10;
const CUSTOMERS: u64 = 3000;
const ORDERS: u64 = 3000;
const WAITING: u64 = 900;
const LINES: u64 = 10;
const ITEMS: u64 = 100_000;
/// Clause 4.3.3.1: last names of customers.
const NAMES: u64 = 1000;
/// Bytes of an order: its row, its lines and a row of the history.
const ENTERED: u64 = ORDER + LINES * ORDER_LINE + HISTORY;
/// Bytes of one of InnoDB's pages.
const BLOCK_BYTES: u64 = BLOCK * PAGE_BYTES;

/// Rows of the files in the load's tables, after those of the doublewrite buffer and the log.
const FILES: [&str; 9] = [
    "warehouse.ibd",
    "district.ibd",
    "customer.ibd",
    "history.ibd",
    "orders.ibd",
    "new_order.ibd",
    "order_line.ibd",
    "stock.ibd",
    "item.ibd",
];

fn tpcc_tables() -> Tables {
    let mysql = ["#ib_16384_0.dblwr", "ib_logfile0"];
    let writers: Vec<_> = mysql
        .into_iter()
        .chain(FILES)
        .map(|file| (ContextKind::Application, "mysqld", file))
        .collect();
    tables(&writers)
}

/// The tables on a drive, and where the transactions are.
#[derive(Debug)]
struct Database {
    warehouses: u64,
    /// Orders that a district keeps.
    kept: u64,
    /// The first page of each table.
    first: [u64; 9],
    /// Orders that each district has entered.
    entered: Vec<u64>,
    paid: u64,
    /// Clause 2.1.6: constants for last names, customers and items.
    constants: [u64; 3],
    /// Pages that the transactions changed.
    changed: VecDeque<u64>,
}

impl Database {
    fn new(blocks: u64, draw: &mut Draw) -> Database {
        // Each table ends within a page.
        let bytes = (blocks - FILES.len() as u64) * BLOCK_BYTES - ITEMS * ITEM;
        let lasting = WAREHOUSE
            + DISTRICTS * (DISTRICT + CUSTOMERS * CUSTOMER + WAITING * NEW_ORDER)
            + ITEMS * STOCK;
        let warehouses = (bytes / (lasting + DISTRICTS * ORDERS * ENTERED)).max(1);
        let districts = warehouses * DISTRICTS;
        let kept =
            (bytes.saturating_sub(warehouses * lasting) / (districts * ENTERED)).max(WAITING + 1);
        let sizes = [
            warehouses * WAREHOUSE,
            districts * DISTRICT,
            districts * CUSTOMERS * CUSTOMER,
            districts * kept * HISTORY,
            districts * kept * ORDER,
            districts * WAITING * NEW_ORDER,
            districts * kept * LINES * ORDER_LINE,
            warehouses * ITEMS * STOCK,
            ITEMS * ITEM,
        ];
        let mut next = 0;
        let first = sizes.map(|bytes| {
            let first = next;
            next += bytes.div_ceil(BLOCK_BYTES);
            first
        });
        Database {
            warehouses,
            kept,
            first,
            entered: vec![ORDERS; districts as usize],
            paid: 0,
            constants: [255, 1023, 8191].map(|most| draw.below_all(most + 1)),
            changed: VecDeque::new(),
        }
    }

    /// The page that the next update changes.
    fn update(&mut self, draw: &mut Draw) -> u64 {
        loop {
            if let Some(page) = self.changed.pop_front() {
                return page;
            }
            // Clause 5.2.3: the least shares of all but new orders, which are the rest.
            match draw.below(100) {
                0..43 => self.payment(draw),
                43..47 => self.delivery(draw),
                47..55 => {}
                _ => self.new_order(draw),
            }
        }
    }

    /// The row of the file that a page is of.
    fn row(first: &[u64; 9], page: u64) -> u32 {
        2 + first.iter().filter(|first| **first <= page).count() as u32
    }

    /// Changes a row: its table, its number in it, and its bytes.
    fn change(&mut self, table: usize, number: u64, bytes: u64) {
        let page = |byte: u64| self.first[table] + byte / BLOCK_BYTES;
        let (first, last) = (page(number * bytes), page((number + 1) * bytes - 1));
        self.changed.extend(first..=last);
    }

    /// Clause 2.1.6: a number below `bound`, unevenly drawn.
    fn uneven(&self, constant: usize, most: u64, bound: u64, draw: &mut Draw) -> u64 {
        let drawn = draw.below_all(most + 1) | draw.below_all(bound);
        (drawn + self.constants[constant]) % bound
    }

    fn customer(&self, draw: &mut Draw) -> u64 {
        self.uneven(1, 1023, CUSTOMERS, draw)
    }

    /// A warehouse, and one of its districts among all.
    fn district(&self, draw: &mut Draw) -> (u64, u64) {
        let warehouse = draw.below_all(self.warehouses);
        (warehouse, warehouse * DISTRICTS + draw.below_all(DISTRICTS))
    }

    /// Another warehouse than `home` in one of a hundred cases for each percent, where there is one.
    fn remote(&self, home: u64, percent: u32, draw: &mut Draw) -> u64 {
        if draw.below(100) >= percent || self.warehouses == 1 {
            return home;
        }
        (home + 1 + draw.below_all(self.warehouses - 1)) % self.warehouses
    }

    /// Clause 2.4: the district's next order, its lines and the stock of each.
    fn new_order(&mut self, draw: &mut Draw) {
        let (warehouse, district) = self.district(draw);
        self.change(1, district, DISTRICT);
        self.order(district, 0);
        if let Some(entered) = self.entered.get_mut(district as usize) {
            *entered += 1;
        }
        for _ in 0..5 + draw.below(11) {
            let supply = self.remote(warehouse, 1, draw);
            let item = self.uneven(2, 8191, ITEMS, draw);
            self.change(7, supply * ITEMS + item, STOCK);
        }
    }

    /// A district's order that came so many before its next: its row, its lines and its row among those that wait.
    fn order(&mut self, district: u64, before: u64) {
        let entered = self
            .entered
            .get(district as usize)
            .copied()
            .unwrap_or(ORDERS);
        let order = entered.saturating_sub(before);
        let place = district * self.kept + order % self.kept;
        self.change(4, place, ORDER);
        self.change(6, place, LINES * ORDER_LINE);
        self.change(5, district * WAITING + order % WAITING, NEW_ORDER);
    }

    /// Clause 2.5: the warehouse, the district, the customer and a row of the history.
    fn payment(&mut self, draw: &mut Draw) {
        let (warehouse, district) = self.district(draw);
        self.change(0, warehouse, WAREHOUSE);
        self.change(1, district, DISTRICT);
        let theirs = match self.remote(warehouse, 15, draw) {
            home if home == warehouse => district,
            other => other * DISTRICTS + draw.below_all(DISTRICTS),
        };
        let customer = if draw.below(100) < 60 {
            self.uneven(0, 255, NAMES, draw) + NAMES * draw.below_all(CUSTOMERS / NAMES)
        } else {
            self.customer(draw)
        };
        self.change(2, theirs * CUSTOMERS + customer, CUSTOMER);
        let place = self.paid % (self.warehouses * DISTRICTS * self.kept);
        self.paid += 1;
        self.change(3, place, HISTORY);
    }

    /// Clause 2.7: in each district the oldest order that waits, and its customer.
    fn delivery(&mut self, draw: &mut Draw) {
        let warehouse = draw.below_all(self.warehouses);
        for district in warehouse * DISTRICTS..(warehouse + 1) * DISTRICTS {
            self.order(district, WAITING);
            let customer = self.customer(draw);
            self.change(2, district * CUSTOMERS + customer, CUSTOMER);
        }
    }
}

fn tpcc(plan: &Plan) -> LoadRequests {
    let innodb = InnoDb::new(plan);
    let mut database = Database::new(innodb.blocks(), &mut Draw::new(plan.seed).fork(1));
    let first = database.first;
    innodb.requests(
        plan,
        move |draw| database.update(draw),
        move |page| Database::row(&first, page),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: u64 = 32_768;

    #[test]
    fn tables_are_changed_as_often_as_the_standards_mix_has_it() {
        let mut draw = Draw::new(3);
        let mut database = Database::new(BLOCKS, &mut draw);
        let mut found = [0_u32; 9];
        while database.paid < 43_000 {
            let page = database.update(&mut draw);
            found[Database::row(&database.first, page) as usize - 3] += 1;
        }
        // Of 100 transactions 45 are new orders of ten lines, 43 payments and 4 deliveries of ten orders. Lines of 540 bytes
        // lie in two pages in one case of 30.
        let expected = [43, 88, 83, 43, 85, 85, 88, 450, 0];
        for (found, expected) in found.into_iter().zip(expected) {
            let of_100 = f64::from(found) / 1000.0;
            let expected = f64::from(expected);
            assert!(
                (of_100 - expected).abs() <= 0.05 * expected,
                "{of_100} {expected}"
            );
        }
    }

    #[test]
    fn a_database_ends_with_its_drive_and_begins_with_the_standards_orders() {
        let database = Database::new(BLOCKS, &mut Draw::new(3));
        // 512 MiB: 8.2 MB of items, and seven warehouses of 68.6 MB.
        assert_eq!(database.warehouses, 7);
        assert!(database.kept >= ORDERS);
        let items = database.first[8] + (ITEMS * ITEM).div_ceil(BLOCK_BYTES);
        assert!((BLOCKS - 12..=BLOCKS).contains(&items), "{items}");
    }
}
