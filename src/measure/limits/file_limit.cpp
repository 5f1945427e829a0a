#include "measure/limits/file_limit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "measure/sensors/proc_files.h"

namespace evener::measure {

FileLimit::FileLimit(LimitFacts facts, std::filesystem::path file)
    : HardwareLimit(std::move(facts)), file_(std::move(file)) {}

std::optional<std::uint64_t> FileLimit::read() const {
  return read_count(file_);
}

std::optional<LimitProblem> FileLimit::set(std::uint64_t counts) const {
  const auto failed = [&]() -> LimitProblem {
    const int error = errno;
    const bool no_right = error == EACCES || error == EPERM || error == EROFS;
    return {fmt::format("{} could not be set to {}: {}", file_.string(), counts, std::strerror(error)), no_right};
  };
  // The kernel takes a value whole with one write, or refuses it.
  const Descriptor file(::open(file_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.valid()) return failed();
  const std::string text = std::to_string(counts) + "\n";
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return failed();
  return std::nullopt;
}

bool FileLimit::may_set() const {
  return ::access(file_.c_str(), W_OK) == 0;
}

}  // namespace evener::measure
