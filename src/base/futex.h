// Sleeping on a word of shared memory until somebody changes it, in one process or between several.
#pragma once

#include <atomic>
#include <cstdint>

namespace evener {

/// Sleeps until futex_wake_all() while `word` equals `seen`, for at most `limit_ns` nanoseconds. May return early for
/// no reason.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t limit_ns);

/// Wakes all who sleep on `word`.
void futex_wake_all(const std::atomic<std::uint32_t>& word);

}  // namespace evener
