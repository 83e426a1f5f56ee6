//! Queues of chunks, each chunk in one of them at most.

/// Marks the absence of a chunk or queue.
const NONE: u32 = u32::MAX;

/// A chunk's neighbours in its queue, or a queue's ends: its head in `next`, its tail in
/// `previous`. 8 bytes.
#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

/// First-in-first-out queues in one array: rings through a node for each queue, which lie behind
/// those of the chunks.
#[derive(Debug, Clone)]
pub(super) struct Queues {
    links: Vec<Link>,
    chunks: usize,
    count: u16,
}

impl Queues {
    /// `count` empty queues for `chunks` chunks.
    pub fn new(chunks: usize, count: u16) -> Queues {
        let chunk = Link {
            previous: NONE,
            next: NONE,
        };
        let mut links = vec![chunk; chunks + usize::from(count)];
        for (node, link) in links.iter_mut().enumerate().skip(chunks) {
            *link = Link {
                previous: node as u32,
                next: node as u32,
            };
        }
        Queues {
            links,
            chunks,
            count,
        }
    }

    /// Number of queues.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// The chunk that has been in a queue for longest.
    #[inline]
    pub fn head(&self, queue: u16) -> Option<usize> {
        self.next(self.chunks + usize::from(queue))
    }

    /// The chunk behind a chunk, or at the head of the queue whose node that is.
    #[inline]
    pub fn next(&self, node: usize) -> Option<usize> {
        let next = self.links[node].next as usize;
        (next < self.chunks).then_some(next)
    }

    /// Takes a chunk out of the queue it is in.
    #[inline]
    pub fn remove(&mut self, chunk: usize) {
        let Link { previous, next } = self.links[chunk];
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
    }

    /// Puts a chunk that is in no queue behind all others of one.
    #[inline]
    pub fn append(&mut self, chunk: usize, queue: u16) {
        let end = self.chunks + usize::from(queue);
        let previous = self.links[end].previous;
        self.links[chunk] = Link {
            previous,
            next: end as u32,
        };
        self.links[previous as usize].next = chunk as u32;
        self.links[end].previous = chunk as u32;
    }

    pub fn memory_bytes(&self) -> usize {
        self.links.capacity() * size_of::<Link>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(queues: &Queues, queue: u16) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = queues.head(queue);
        while let Some(chunk) = at {
            found.push(chunk);
            at = queues.next(chunk);
        }
        found
    }

    #[test]
    fn chunks_leave_in_the_order_they_came_or_from_the_middle() {
        let mut queues = Queues::new(5, 2);
        for chunk in [3, 1, 4] {
            queues.append(chunk, 1);
        }
        queues.append(0, 0);
        assert_eq!((all(&queues, 0), all(&queues, 1)), (vec![0], vec![3, 1, 4]));
        queues.remove(1);
        queues.append(1, 0);
        assert_eq!((all(&queues, 0), all(&queues, 1)), (vec![0, 1], vec![3, 4]));
        queues.remove(3);
        queues.remove(4);
        assert_eq!(queues.head(1), None);
    }
}
