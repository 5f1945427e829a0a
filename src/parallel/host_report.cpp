#include "parallel/host_report.h"

#include <regex>

namespace evener::parallel {
namespace {

constexpr const char* kOwn = "evener: ";
constexpr const char* kSecondSignal = "evener: second signal: ";
constexpr std::size_t kMostUnknown = 12;  // lines

bool is_dashes(const std::string& line) {
  return line.size() > 60 && line.find_first_not_of('-') == std::string::npos;
}

/// What follows `label` on the same line.
std::string value_after(const std::string& text, const std::string& label) {
  const std::regex pattern(label + R"(\s*(\S+))");
  std::smatch match;
  return std::regex_search(text, match, pattern) ? match[1].str() : "?";
}

/// A block of Open MPI's, in one sentence; "" if it is none that we know or one that says nothing new.
std::string meaning_of(const std::string& text, int hosts) {
  std::smatch match;
  const auto has = [&text](const char* words) { return text.find(words) != std::string::npos; };
  static const std::regex kSignal(
      R"(process rank (\d+) with PID \d+ on\s+node (\S+) exited\s+on signal (\d+ \([^)]*\)))");
  if (std::regex_search(text, match, kSignal)) {
    return "host " + match[2].str() + " (host " + match[1].str() + " of " + std::to_string(hosts) +
           ") was lost: its process was ended by signal " + match[3].str();
  }
  if (has("could not find an executable") || has("could not access")) {
    return "host " + value_after(text, "Node:") + " can't run '" + value_after(text, "Executable:") +
           "': evener has to be installed under the same path on all hosts";
  }
  if (has("change to working directory") || has("wdir")) {
    return "a host has no folder of the name of this one, or can't enter it: start the run from a folder that all "
           "hosts have";
  }
  if (has("lost communication with")) {
    return "the connection with host " + value_after(text, R"(Remote daemon:[^\n]*on node)") +
           " was lost: it is down or cut off";
  }
  if (has("unable to reliably start one or more daemons") || has("daemon has unexpectedly failed")) {
    return "not every host could be reached to start evener on it (what ssh said stands above): check the names, that "
           "'ssh HOST true' works without a password, and that Open MPI is installed there";
  }
  if (has("not enough slots")) return "two of the hosts are the same one: each may be named once";
  return "";
}

bool says_nothing_new(const std::string& text) {
  for (const char* words : {"Primary job  terminated normally", "process returned a non-zero exit code",
                            "exited with non-zero status", "exited improperly", "exiting improperly"}) {
    if (text.find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

bool HostReport::take(const std::string& line) {
  if (line.starts_with(kSecondSignal)) return false;  // mpirun sends more than one to end a process
  if (line.starts_with(kOwn)) {
    failed_ = true;
    if (error_.empty()) error_ = line.substr(std::string(kOwn).size());
    return false;
  }
  if (is_dashes(line)) {
    if (in_block_) end_block();
    in_block_ = !in_block_;
    return false;
  }
  static const std::regex kFromOpenMpi(R"(^\[[^\]:]+:\d+\] |^mpirun: |^srun: |^slurmstepd: )");
  if (in_block_) {
    block_.push_back(line);
  } else if (std::regex_search(line, kFromOpenMpi)) {
    if (unknown_.size() < kMostUnknown) unknown_.push_back(line);
  } else {
    return true;
  }
  return false;
}

void HostReport::end_block() {
  std::string text;
  for (const auto& line : block_) text += line + "\n";
  const std::string meaning = meaning_of(text, hosts_);
  failed_ = failed_ || !meaning.empty() || says_nothing_new(text);
  if (finding_.empty()) {
    finding_ = meaning;
    finding_is_loss_ = meaning.find("was lost") != std::string::npos;
  }
  if (meaning.empty() && !says_nothing_new(text)) {
    for (const auto& line : block_) {
      if (unknown_.size() < kMostUnknown) unknown_.push_back(line);
    }
  }
  block_.clear();
}

std::string HostReport::text() const {
  // mpirun tells of what was lost first, and ends the others: what they say then came of it.
  if (finding_is_loss_) return finding_;
  if (!error_.empty()) return error_;
  if (!finding_.empty()) return finding_;
  std::string text = "the run on " + std::to_string(hosts_) + " hosts ended before its time";
  for (const auto& line : unknown_) text += "\n  " + line;
  return text;
}

}  // namespace evener::parallel
