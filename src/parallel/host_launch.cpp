#include "parallel/host_launch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/child.h"
#include "base/error.h"
#include "base/stop.h"
#include "parallel/host_report.h"

namespace evener::parallel {
namespace {

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
