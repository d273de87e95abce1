//! Children at work at the same time: neighbouring `subagent` calls of one reply, each on a thread.

use crate::cli::prelude::*;

impl super::Team<'_> {
    /// A result for each call, in their order. A plain call waits for those before it and holds
    /// those after it. `work` is told which number a child gets: they count in call order.
    pub(super) fn side_by_side(
        &self, calls: &[Call], work: impl Fn(&Call, usize) -> Value + Sync,
    ) -> Vec<Value> {
        let child = |call: &Call| call.name == "subagent";
        let batches = calls.chunk_by(|left, right| child(left) && child(right));
        batches.flat_map(|batch| self.batch(batch, &work)).collect()
    }

    fn batch(&self, batch: &[Call], work: &(impl Fn(&Call, usize) -> Value + Sync)) -> Vec<Value> {
        let children = batch.iter().filter(|call| call.name == "subagent").count();
        let numbers = self.children.fetch_add(children, Relaxed) + 1..;
        let (queue, results) = (Mutex::new(numbers.zip(batch)), Mutex::new(BTreeMap::new()));
        let next = || queue.lock().expect("no thread panics").next();
        let work = || {
            while let Some((number, call)) = next() {
                let result = work(call, number);
                results.lock().expect("no thread panics").insert(number, result);
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.args.jobs.get().min(batch.len()) {
                // Where there is no thread to be had, the others do its work.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        results.into_inner().expect("no thread panics").into_values().collect()
    }
}
