#include "parallel/command.h"

#include <bit>

namespace evener::parallel {
namespace {

constexpr std::size_t kFields = 8;  // before the counts

}  // namespace

std::vector<std::int64_t> packed(const Command& command, std::size_t counts) {
  std::vector<std::int64_t> numbers = {static_cast<std::int64_t>(command.kind),
                                       command.epoch,
                                       command.step,
                                       std::bit_cast<std::int64_t>(command.learning_rate),
                                       command.part,
                                       command.with_optimizer,
                                       command.divides,
                                       command.begin};
  numbers.insert(numbers.end(), command.counts.begin(), command.counts.end());
  numbers.resize(kFields + counts, 0);
  return numbers;
}

Command unpacked(const std::vector<std::int64_t>& n) {
  return {static_cast<Command::Kind>(n[0]), n[1], n[2], std::bit_cast<double>(n[3]), n[4], n[5], n[6], n[7],
          {n.begin() + kFields, n.end()}};
}

}  // namespace evener::parallel
