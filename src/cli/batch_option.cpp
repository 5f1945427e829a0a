#include "cli/batch_option.h"

#include <charconv>

#include "base/error.h"
#include "cli/planning.h"

namespace evener::cli {

std::int64_t parse_batch(const TrainFlags& flags) {
  constexpr std::int64_t kMost = 1'000'000, kUntilFound = 64;
  if (flags.batch == "max") {
    if (flags.resume) throw UsageError("--resume goes on with the batch that the run had: give it instead of max");
    if (flags.epochs == 0) throw UsageError("--batch max is found by training, and --epochs 0 trains nothing");
    if (is_automatic(flags))
      throw UsageError("--on auto compares placements for a batch of one size: give --batch a number");
    if (!flags.hosts.empty() || flags.hosts_started > 0) {
      throw UsageError("--batch max is found for one replica, not for several hosts: give a number");
    }
    return kUntilFound;
  }
  std::int64_t batch = 0;
  const char* const end = flags.batch.data() + flags.batch.size();
  const auto [stop, error] = std::from_chars(flags.batch.data(), end, batch);
  if (error == std::errc::invalid_argument || stop != end) {
    throw UsageError("--batch '" + flags.batch + "' is not a whole number, and not max");
  }
  if (error != std::errc() || batch > kMost) throw UsageError("--batch is " + flags.batch + "; the most is 1000000");
  if (batch < 1) throw UsageError("--batch is " + flags.batch + "; it has to be more than 0");
  return batch;
}

}  // namespace evener::cli
