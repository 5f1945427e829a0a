// How a batch is cut into the parts that a run computes one after the other, for less memory.
#pragma once

#include <cstdint>
#include <vector>

namespace evener::parallel {

/// The sizes of the micro-batches of a batch of `samples`, where a whole batch of `batch` samples is cut into
/// `accumulate` parts. They differ by one sample at most, and those of a short batch are fewer instead of smaller. No
/// micro-batch is a single sample, which batch-norm can't always take, unless a whole batch has such micro-batches or
/// `samples` is 1.
std::vector<std::int64_t> micro_batches(std::int64_t samples, std::int64_t batch, std::int64_t accumulate);

}  // namespace evener::parallel
