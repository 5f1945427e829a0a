#include "parallel/host_report.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

#include "parallel/launcher.h"

namespace evener::parallel {
namespace {

constexpr const char* kOwn = "evener: ";
constexpr const char* kSecondSignal = "evener: second signal: ";
constexpr std::size_t kMostUnknown = 12;  // lines

bool is_dashes(const std::string& line) {
  return line.size() > 60 && line.find_first_not_of('-') == std::string::npos;
}

/// The word after `labels`, which follow each other in the text.
std::string word_after(const std::string& text, std::initializer_list<std::string_view> labels) {
  std::size_t at = 0;
  for (const std::string_view label : labels) {
    at = text.find(label, at);
    if (at == std::string::npos) return "?";
    at += label.size();
  }
  std::string word;
  std::istringstream(text.substr(at)) >> word;
  return word.empty() ? "?" : word;
}

/// Which process ended by which signal: "process rank 1 with PID 77 on node b exited on signal 9 (Killed).", wherever
/// the lines break.
struct SignalEnd {
  std::string rank, node, signal;
};

std::optional<SignalEnd> signal_end(const std::string& text) {
  std::istringstream stream(text);
  const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  const std::vector<std::string> known = {"process", "rank", "", "with",   "PID", "",
                                          "on",      "node", "", "exited", "on",  "signal"};  // "": any word
  const auto fits = [](const std::string& word, const std::string& wanted) { return wanted.empty() || word == wanted; };
  const auto found = std::search(words.begin(), words.end(), known.begin(), known.end(), fits);
  if (found == words.end()) return std::nullopt;
  SignalEnd end{found[2], found[8], ""};
  for (auto word = found + static_cast<std::ptrdiff_t>(known.size()); word != words.end(); ++word) {
    const std::size_t close = word->find(')');
    end.signal += (end.signal.empty() ? "" : " ") + word->substr(0, close == std::string::npos ? close : close + 1);
    if (close != std::string::npos) return end;
  }
  return std::nullopt;
}

/// "mpirun: ...", "[node:77] ...".
bool is_of_starter(const std::string& line) {
  for (const char* name : {"mpirun: ", "srun: ", "slurmstepd: "}) {
    if (line.starts_with(name)) return true;
  }
  const std::size_t colon = line.find(':'), end = line.find("] ");
  return line.starts_with('[') && colon != std::string::npos && end != std::string::npos && colon > 1 &&
         colon + 1 < end && line.find_first_not_of("0123456789", colon + 1) == end && line.find(']') == end;
}

/// The meaning of one of Open MPI's message blocks, in a sentence; "" if it is unknown or says nothing new.
std::string meaning_of(const std::string& text, int hosts) {
  const auto has = [&text](const char* words) { return text.find(words) != std::string::npos; };
  if (const auto end = signal_end(text)) {
    return "host " + end->node + " (host " + end->rank + " of " + std::to_string(hosts) +
           ") was lost: its process was ended by signal " + end->signal;
  }
  if (has("could not find an executable") || has("could not access")) {
    return "host " + word_after(text, {"Node:"}) + " can't run '" + word_after(text, {"Executable:"}) +
           "': evener has to be installed under the same path on all hosts";
  }
  if (has("change to working directory") || has("wdir")) {
    return "a host has no folder of the name of this one, or can't enter it: start the run from a folder that all "
           "hosts have";
  }
  if (has("lost communication with")) {
    return "the connection with host " + word_after(text, {"Remote daemon:", "on node"}) +
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
  if (in_block_) {
    block_.push_back(line);
  } else if (is_of_starter(line)) {
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

bool HostReport::lost() const {
  const auto says = [this](const char* words) { return error_.find(words) != std::string::npos; };
  return finding_is_loss_ || no_answer() || says(kResumeAdvice) || says(kNothingSaved);
}

std::string HostReport::text() const {
  // mpirun reports a loss first and then ends the other processes, so their later messages are only consequences.
  if (finding_is_loss_) return finding_;
  if (!error_.empty()) return error_;
  if (!finding_.empty()) return finding_;
  std::string text = "the run on " + std::to_string(hosts_) + " hosts ended before its time";
  for (const auto& line : unknown_) text += "\n  " + line;
  return text;
}

}  // namespace evener::parallel
