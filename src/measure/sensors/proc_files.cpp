#include "measure/sensors/proc_files.h"

#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/names.h"

namespace evener::measure {
namespace {

constexpr std::size_t kLimitBytes = std::size_t{4} << 20;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

/// The fields of /proc/PID/stat after the command's name, which may hold blanks; field 3 of proc(5) is the first.
std::optional<std::istringstream> fields_after_name(const std::string& text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  return std::istringstream(text.substr(name_end + 1));
}

}  // namespace

std::optional<std::string> read_small_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  char buffer[8192];
  while (text.size() < kLimitBytes && (file.read(buffer, sizeof buffer) || file.gcount() > 0)) {
    text.append(buffer, static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return std::nullopt;
  return text;
}

std::optional<std::string> read_first_line(const std::filesystem::path& path) {
  const std::optional<std::string> text = read_small_file(path);
  if (!text || text->empty()) return std::nullopt;
  return std::string(trimmed(std::string_view(*text).substr(0, text->find('\n'))));
}

std::optional<std::uint64_t> read_count(const std::filesystem::path& path) {
  const std::optional<std::string> line = read_first_line(path);
  return line ? number(*line) : std::nullopt;
}

std::optional<std::string> field_text(const std::string& text, std::string_view key, char separator) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    const std::size_t split = line.find(separator);
    if (split != std::string_view::npos && trimmed(line.substr(0, split)) == key) {
      return std::string(trimmed(line.substr(split + 1)));
    }
    begin = end + 1;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> field_bytes(const std::string& text, std::string_view key) {
  const std::optional<std::string> value = field_text(text, key, ':');
  if (!value) return std::nullopt;
  const std::optional<std::uint64_t> count = number(*value);
  if (!count) return std::nullopt;
  return value->ends_with("kB") ? *count * 1024 : *count;
}

std::vector<CpuTicks> parse_stat(const std::string& text) {
  std::vector<CpuTicks> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    std::istringstream fields(line);
    std::string name;
    std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(fields >> name >> user >> nice >> system >> idle)) return {};
    fields >> iowait >> irq >> softirq >> steal;  // absent in very old kernels
    all.push_back({user + nice + system + irq + softirq, steal, idle + iowait});
  }
  return all;
}

std::optional<std::uint64_t> parse_process_ticks(const std::string& text) {
  std::optional<std::istringstream> found = fields_after_name(text);
  if (!found) return std::nullopt;
  std::istringstream& fields = *found;
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;  // state (field 3) to cmajflt (13), see proc(5)
  std::uint64_t user = 0, system = 0, children_user = 0, children_system = 0;
  if (!(fields >> user >> system)) return std::nullopt;
  fields >> children_user >> children_system;
  return user + system + children_user + children_system;
}

std::optional<std::uint64_t> parse_process_start(const std::string& text) {
  std::optional<std::istringstream> fields = fields_after_name(text);
  std::string state, skipped;
  if (!fields || !(*fields >> state) || state == "Z" || state == "X") return std::nullopt;
  for (int field = 4; field < 22; ++field) *fields >> skipped;
  std::uint64_t ticks = 0;
  if (!(*fields >> ticks)) return std::nullopt;
  return ticks;
}

}  // namespace evener::measure
