// Divides a batch into micro-batches, which are computed one after the other to need less memory.
#pragma once

#include <cstdint>
#include <vector>

namespace evener::parallel {

/// The sizes of the micro-batches of a batch of `samples`, if a whole batch of `batch` samples has `accumulate`
/// micro-batches. Sizes differ by one at most. A short batch (the last of an epoch) has fewer micro-batches, not
/// smaller ones. No micro-batch is a single sample, for which batch-norm may have no variance, unless `samples` is 1 or
/// a whole batch has such micro-batches too.
std::vector<std::int64_t> micro_batches(std::int64_t samples, std::int64_t batch, std::int64_t accumulate);

}  // namespace evener::parallel
