#include "parallel/hosts.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/child.h"
#include "base/error.h"
#include "base/files.h"
#include "base/host_name.h"
#include "base/message.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "base/utf8.h"
#include "comm/communicator.h"
#include "parallel/launcher.h"

namespace evener::parallel {
namespace {

/// The first message of each host to the others.
using Greeting = std::tuple<std::string, std::vector<Fact>>;  // host name and facts

constexpr std::size_t kMostHosts = 65536;

/// Why `name` names no host; "" where it does. The names become arguments of mpirun and ssh, so other characters are
/// refused.
std::string why_no_host(const std::string& name) {
  const auto has = [&name](const char* characters) { return name.find_first_of(characters) != std::string::npos; };
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_';
  };
  if (!name.empty() && name.front() != '-' && std::ranges::all_of(name, good)) return "";
  if (name.empty()) return "a name is missing beside a comma";
  if (has(" \t;")) return "between names there is a comma alone";
  if (has(",")) return "each host has a line of its own in a file";
  if (has("[")) return "each name is written out";
  if (has("@")) return "the user whom ssh logs in as stands in ~/.ssh/config";
  if (std::ranges::count(name, ':') > 1) return "an IPv6 address isn't taken, the host's name is";
  if (has(":")) return "slots and ports aren't given, as each host runs the whole of --on, such as 4xcpu/t1";
  return "it has other characters than letters, digits, '.', '-' and '_', or begins with '-'";
}

/// The names in a text that isn't quite a list of them, with commas between: "a,b" of "me@a:4, b:4"; "a,b" too where
/// there are none.
std::string right_form(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == ';'; }, ' ');
  std::istringstream words(text);
  std::string form;
  for (std::string word; words >> word;) {
    word = word.substr(word.find('@') + 1);
    word = word.substr(0, word.find(':'));
    if (why_no_host(word).empty()) form += (form.empty() ? "" : ",") + word;
  }
  return form.empty() ? "a,b" : form;
}

/// `advice`: what to give instead of a name that is none.
void add(std::vector<std::string>& hosts, const std::string& name, const std::string& advice) {
  if (const std::string why = why_no_host(name); !why.empty()) {
    throw UsageError("'" + printable(name) + "' is no name of a host: " + why + "; " + advice);
  }
  if (std::ranges::find(hosts, name) != hosts.end()) {
    throw UsageError("host '" + name + "' is there twice; each host runs the whole placement once");
  }
  if (hosts.size() == kMostHosts) throw UsageError("more than " + std::to_string(kMostHosts) + " hosts");
  hosts.push_back(name);
}

std::vector<std::string> hosts_of_file(const std::string& path) {
  constexpr std::uint64_t kMostBytes = 1 << 24;
  std::vector<std::string> hosts;
  for (std::string line : read_list(path, kMostBytes)) {
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string name;
    if (words >> name) add(hosts, name, "give " + right_form(line) + " in the file '" + path + "', one to a line");
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

constexpr const char* kOfSlurm = "it comes from SLURM_JOB_NODELIST; give --hosts a,b";

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
    add(hosts, prefix + digits, kOfSlurm);
  }
}

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
  if (has("not enough slots") || has("more processes than the ppr")) {
    return "two of the hosts are the same one: each may be named once";
  }
  return "";
}

bool says_nothing_new(const std::string& text) {
  for (const char* words : {"Primary job  terminated normally", "process returned a non-zero exit code",
                            "exited with non-zero status", "exited improperly", "exiting improperly"}) {
    if (text.find(words) != std::string::npos) return true;
  }
  return false;
}

namespace fs = std::filesystem;

/// How long the starter may take to end after a failure.
constexpr std::chrono::seconds kGrace{5}, kGraceWithoutAnswer{1};

/// Adds a setting of Open MPI, unless the user has set it.
void add_setting(std::vector<std::string>& words, const std::string& name, const std::string& value) {
  if (std::getenv(("OMPI_MCA_" + name).c_str()) != nullptr) return;
  words.insert(words.end(), {"--mca", name, value});
}

std::vector<std::string> mpirun_words(const HostLaunch& launch) {
  const std::string count = std::to_string(launch.hosts.size());
  std::string hosts;
  for (const auto& host : launch.hosts) hosts += (hosts.empty() ? "" : ",") + host + ":1";
  // By default mpirun refuses root, and would bind the whole process to one core.
  std::vector<std::string> words = {"mpirun",   "--host",     hosts,       "-np", count,
                                    "--map-by", "ppr:1:node", "--bind-to", "none"};
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
  words.insert(words.end(), {"--wdir", fs::current_path().string()});
  add_setting(words, "btl_vader_single_copy_mechanism", "none");  // not allowed in containers, and not used here
  // mpirun's helper on a host that is cut off ends after this many seconds. This must be earlier than our own loss
  // detection: its message would keep the helper alive for as long as TCP retries.
  add_setting(words, "oob_tcp_keepalive_time", "1");
  add_setting(words, "oob_tcp_keepalive_intvl", "1");
  add_setting(words, "oob_tcp_keepalive_probes", "3");
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (text.starts_with("EVENER_")) words.insert(words.end(), {"-x", text.substr(0, text.find('='))});
  }
  return words;
}

std::vector<std::string> srun_words(const HostLaunch& launch) {
  const std::string count = std::to_string(launch.hosts.size());
  std::vector<std::string> words = {"srun",       "--nodes=" + count,     "--ntasks=" + count, "--ntasks-per-node=1",
                                    "--mpi=pmix", "--kill-on-bad-exit=1", "--cpu-bind=none"};
  if (const char* cpus = std::getenv("SLURM_CPUS_PER_TASK")) words.push_back(std::string("--cpus-per-task=") + cpus);
  return words;
}

/// Kills descendants whose parents have ended, such as an ssh that waits for a host; they are our children by
/// PR_SET_CHILD_SUBREAPER.
void kill_orphans() {
  std::ifstream file("/proc/thread-self/children");
  for (pid_t child = 0; file >> child;) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

[[noreturn]] void fail(const ChildEnd& end, const HostReport& report) {
  const std::string text = report.text();
  if (end.exit_code == 2) throw UsageError(text);
  if (is_stop_exit_code(end.exit_code) || stop_requested()) throw Interrupted(text);
  if (report.lost()) throw HostLost(text);
  throw Error(text);
}

}  // namespace

void describe(auto& visitor, Of<Fact> auto& fact) {
  visitor.members(fact.what, fact.value, fact.advice);
}

std::string difference_of(const std::vector<std::string>& names, const std::vector<std::vector<Fact>>& facts) {
  for (std::size_t host = 1; host < facts.size(); ++host) {
    for (std::size_t i = 0; i < facts[0].size(); ++i) {
      const Fact& first = facts[0][i];
      const bool known = i < facts[host].size() && facts[host][i].what == first.what;
      if (known && facts[host][i].value == first.value) continue;
      return "the hosts are not at the same work: the " + first.what + " is " + printable(first.value) + " on " +
             names[0] + ", " + (known ? printable(facts[host][i].value) : "not known") + " on " + names[host] + "; " +
             first.advice;
    }
  }
  return "";
}

HostLink::HostLink(const HostsOptions& options, int channels) : group_(comm::connect_hosts(channels + 1)) {
  for (int i = 0; i < channels; ++i) channels_.push_back(group_->channel(i));
  messages_ = group_->channel(channels);
  std::vector<std::vector<Fact>> facts;
  const std::string own = pack_message(Greeting(host_name(), options.facts));
  for (const std::string& message : comm::gather_messages(*channels_.front(), own)) {
    const std::string what = "the greeting of host " + std::to_string(names_.size());
    auto [name, its_facts] = unpack_message<Greeting>(message, what);
    names_.push_back(std::move(name));
    facts.push_back(std::move(its_facts));
  }
  const std::string difference = difference_of(names_, facts);
  if (difference.empty()) return;
  channels_.front()->barrier();  // wait until all have read it, since the end of one host ends the others
  throw Error(difference);
}

std::vector<std::string> HostLink::gather(const std::string& own) {
  return comm::gather_messages(*messages_, own);
}

std::vector<std::string> parse_hosts(const std::string& text) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(text, ignored)) return hosts_of_file(text);
  if (is_called_like_a_file(text)) {
    throw UsageError("--hosts: there is no file '" + printable(text) +
                     "' here; give a file that has the name of a host on each line, or names with commas between");
  }
  std::vector<std::string> hosts;
  std::istringstream names(text);
  const std::string advice = "give --hosts " + right_form(text) + ", or a file with a name on each line";
  for (std::string name; std::getline(names, name, ',');) add(hosts, name, advice);
  if (text.empty() || text.ends_with(',')) add(hosts, "", advice);
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
      add(hosts, name, kOfSlurm);
      name.clear();
    } else {
      name += text[i];
    }
  }
  if (!name.empty()) add(hosts, name, kOfSlurm);
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

std::vector<std::string> starter_words(const HostLaunch& launch) {
  const bool mpirun = find_program("mpirun").has_value();
  if (!mpirun && !(launch.slurm && find_program("srun"))) {
    throw Error(
        "there is no 'mpirun' in PATH, which starts evener on other hosts; install Open MPI (Debian: openmpi-bin), on "
        "all hosts");
  }
  std::vector<std::string> words = mpirun ? mpirun_words(launch) : srun_words(launch);
  words.push_back(launch.program);
  words.insert(words.end(), launch.words.begin(), launch.words.end());
  return words;
}

void run_on_hosts(const HostLaunch& launch) {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::string> words = starter_words(launch);
  HostReport report(static_cast<int>(launch.hosts.size()));
  std::optional<Clock::time_point> failed_at;
  ChildOptions options;
  options.keep_stdout = true;
  options.stop_signal = SIGUSR1;  // mpirun passes it on; at SIGTERM it would kill
  options.on_stderr_line = [&](const std::string& line) {
    if (report.take(line)) std::fprintf(stderr, "%s\n", line.c_str());
    if (report.failed() && !failed_at) failed_at = Clock::now();
  };
  options.give_up = [&] {
    return failed_at && Clock::now() - *failed_at > (report.no_answer() ? kGraceWithoutAnswer : kGrace);
  };
  // mpirun looks for OpenCL devices through hwloc; the drivers of some (PoCL, by LLVM) take over the handler of
  // SIGUSR1, and a stop request would never come to the hosts.
  setenv("HWLOC_COMPONENTS", "-opencl", /*overwrite=*/0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const ChildEnd end = run_child(*find_program(words.front()), words, options);
  kill_orphans();
  if (!end.good()) fail(end, report);
}

}  // namespace evener::parallel
