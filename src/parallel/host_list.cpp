#include "parallel/host_list.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/utf8.h"

namespace evener::parallel {
namespace {

constexpr std::size_t kMostHosts = 65536;

// The names become arguments of mpirun and ssh, so other characters are refused.
void check_name(const std::string& name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  };
  if (!name.empty() && name.front() != '-' && std::ranges::all_of(name, good)) return;
  throw UsageError("'" + printable(name) +
                   "' is no name of a host; give --hosts as names with commas between, or a file");
}

void add(std::vector<std::string>& hosts, const std::string& name) {
  check_name(name);
  if (std::ranges::find(hosts, name) != hosts.end()) {
    throw UsageError("host '" + name + "' is there twice; each host runs the whole placement once");
  }
  if (hosts.size() == kMostHosts) throw UsageError("more than " + std::to_string(kMostHosts) + " hosts");
  hosts.push_back(name);
}

std::vector<std::string> hosts_of_file(const std::string& path) {
  constexpr std::uint64_t kMostBytes = 1 << 24;
  std::istringstream file(text_without_byte_order_mark(read_file(path, kMostBytes)));
  std::vector<std::string> hosts;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    if (words >> name) add(hosts, name);
  }
  if (hosts.empty()) throw UsageError("the file '" + path + "' names no host; it has one on each line");
  return hosts;
}

/// Hosts have no slashes in their names, and end in a domain.
bool is_called_like_a_file(const std::string& text) {
  if (text.find(',') != std::string::npos) return false;
  const std::string ending = std::filesystem::path(text).extension().string();
  constexpr std::array<std::string_view, 7> kOfTexts = {".txt", ".lst", ".list", ".conf", ".cfg", ".csv", ".hosts"};
  return text.find('/') != std::string::npos || std::ranges::find(kOfTexts, ending) != kOfTexts.end();
}

[[noreturn]] void bad_nodes(const std::string& text) {
  throw UsageError("the list of nodes '" + printable(text) + "' (SLURM_JOB_NODELIST) is not understood; give --hosts");
}

/// "001-003" as 001, 002, 003.
void add_range(std::vector<std::string>& hosts, const std::string& prefix, std::string_view range,
               const std::string& text) {
  const auto dash = range.find('-');
  const std::string_view low = range.substr(0, dash), high = dash == range.npos ? low : range.substr(dash + 1);
  const auto first = to_number<unsigned>(low), last = to_number<unsigned>(high);
  if (!first || !last || *last < *first || *last - *first >= kMostHosts) bad_nodes(text);
  for (unsigned number = *first; number <= *last; ++number) {
    std::string digits = std::to_string(number);
    if (digits.size() < low.size()) digits.insert(0, low.size() - digits.size(), '0');
    add(hosts, prefix + digits);
  }
}

}  // namespace

std::vector<std::string> parse_hosts(const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(text, ignored)) return hosts_of_file(text);
  if (is_called_like_a_file(text)) {
    throw UsageError("--hosts: there is no file '" + printable(text) +
                     "' here; give a file that has the name of a host on each line, or names with commas between");
  }
  std::vector<std::string> hosts;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) add(hosts, name);
  if (hosts.empty()) throw UsageError("--hosts names no host");
  return hosts;
}

std::vector<std::string> expand_slurm_nodes(const std::string& text) {
  std::vector<std::string> hosts;
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') {
      const auto end = text.find(']', i);
      if (end == std::string::npos || (end + 1 < text.size() && text[end + 1] != ',')) bad_nodes(text);
      std::istringstream ranges(text.substr(i + 1, end - i - 1));
      for (std::string range; std::getline(ranges, range, ',');) add_range(hosts, name, range, text);
      name.clear();
      i = end + 1;
    } else if (text[i] == ',') {
      add(hosts, name);
      name.clear();
    } else {
      name += text[i];
    }
  }
  if (!name.empty()) add(hosts, name);
  if (hosts.empty()) bad_nodes(text);
  return hosts;
}

std::vector<std::string> slurm_hosts() {
  const char* nodes = std::getenv("SLURM_JOB_NODELIST");
  if (nodes == nullptr) return {};
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (tasks != nullptr && std::string_view(tasks) != "1") {
    throw UsageError("started " + std::string(tasks) +
                     " times by srun; call 'evener train' once in the script of the job, without srun: it starts the "
                     "other hosts itself");
  }
  std::vector<std::string> hosts = expand_slurm_nodes(nodes);
  if (hosts.size() == 1) hosts.clear();
  return hosts;
}

}  // namespace evener::parallel
