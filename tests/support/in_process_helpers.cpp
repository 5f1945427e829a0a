#include "support/in_process_helpers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "app/program.h"
#include "base/cpu.h"
#include "base/sanitizer.h"
#include "base/stop.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;

void require(bool good, const std::string& what) {
  if (!good) throw std::runtime_error(what + ": " + std::strerror(errno));
}

void flush_all() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

/// What a sanitizer finds is told to who runs the tests, not to the file that stands for stderr and goes with the
/// process.
void tell_sanitizers_where_stderr_is() {
  if (!is_sanitized()) return;
  static const int real_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  tell_findings_to(real_stderr);
}

/// A descriptor that leads to another file meanwhile.
class Redirected {
 public:
  Redirected(int descriptor, const fs::path& file, int flags)
      : descriptor_(descriptor), before_(fcntl(descriptor, F_DUPFD_CLOEXEC, 3)) {
    require(before_ >= 0, "can't keep a descriptor");
    const int opened = open(file.c_str(), flags | O_CLOEXEC, 0600);
    require(opened >= 0 && dup2(opened, descriptor) >= 0, "can't redirect to '" + file.string() + "'");
    close(opened);
  }
  ~Redirected() {
    dup2(before_, descriptor_);
    close(before_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int descriptor_, before_;
};

/// The process's handlers and mask, put back at the end.
class KeptSignals {
 public:
  KeptSignals() {
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
    for (int signal = 1; signal < kSignals; ++signal) sigaction(signal, nullptr, &actions_[signal]);
  }
  ~KeptSignals() {
    for (int signal = 1; signal < kSignals; ++signal) sigaction(signal, &actions_[signal], nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr int kSignals = 32;  // the classic ones
  struct sigaction actions_[kSignals] = {};
  sigset_t mask_;
};

/// The folder of the process, the CPUs of this thread, and the rights of new files, put back at the end.
class KeptPlace {
 public:
  explicit KeptPlace(const fs::path& cwd) : cwd_(fs::current_path()), umask_(umask(0)) {
    umask(umask_);
    if (!cwd.empty()) fs::current_path(cwd);
  }
  ~KeptPlace() {
    std::error_code ignored;
    fs::current_path(cwd_, ignored);
    umask(umask_);
    pin_this_thread(cpus_);
  }
  KeptPlace(const KeptPlace&) = delete;
  KeptPlace& operator=(const KeptPlace&) = delete;

 private:
  fs::path cwd_;
  mode_t umask_;
  const std::vector<int> cpus_ = cpus_of_this_thread();
};

/// Variables that are set meanwhile.
class WithEnvironment {
 public:
  explicit WithEnvironment(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) {
      const char* const before = std::getenv(name.c_str());
      before_[name] = before == nullptr ? std::nullopt : std::optional<std::string>(before);
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ~WithEnvironment() {
    for (const auto& [name, value] : before_) {
      if (value) {
        setenv(name.c_str(), value->c_str(), 1);
      } else {
        unsetenv(name.c_str());
      }
    }
  }
  WithEnvironment(const WithEnvironment&) = delete;
  WithEnvironment& operator=(const WithEnvironment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

std::string content_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

int exit_code_of(Words words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  clear_stop_request();
  const int code = app::run_command_line(static_cast<int>(words.size()), argv.data());
  clear_stop_request();
  return code;
}

}  // namespace

ProgramResult run_in_process(const Words& arguments, const ProgramOptions& options) {
  if (std::getenv("GTEST_TOTAL_SHARDS") != nullptr) {
    throw std::logic_error(
        "a test of a command needs a process of its own: name it in unshared_ROOM of tests/CMakeLists.txt");
  }
  const TemporaryFolder folder;
  const fs::path out = folder / "out", err = folder / "err";
  constexpr int kNewFile = O_WRONLY | O_CREAT | O_APPEND;
  ProgramResult result;
  flush_all();
  tell_sanitizers_where_stderr_is();
  {
    const KeptSignals signals;
    const WithEnvironment environment(options.environment);
    const KeptPlace place(options.cwd);
    const Redirected in_of_program(STDIN_FILENO, "/dev/null", O_RDONLY);
    const Redirected out_of_program(STDOUT_FILENO, out, kNewFile), err_of_program(STDERR_FILENO, err, kNewFile);
    result.exit_code = exit_code_of(joined({"evener"}, arguments));
    flush_all();
  }
  result.out = content_of(out);
  result.err = content_of(err);
  return result;
}

}  // namespace evener::test
