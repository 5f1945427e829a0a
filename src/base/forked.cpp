#include "base/forked.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/child_answer.h"
#include "base/descriptor.h"
#include "base/error.h"

namespace evener {
namespace {

std::atomic<bool> forks_are_forbidden = false;

}  // namespace

std::string in_child(const std::function<std::string()>& body, double limit_s) {
  if (!may_fork()) return body();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("can't make a pipe: ") + std::strerror(errno));
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  std::fflush(nullptr);  // or the child writes it again
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw Error(std::string("can't start a process: ") + std::strerror(errno));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died before the line above
    write_answer(body, writer.get());
    _exit(0);  // without destructors: they are the parent's
  }
  writer.close();
  return await_answer(reader, child, limit_s);
}

void forbid_forks() {
  forks_are_forbidden = true;
}

bool may_fork() {
  return !forks_are_forbidden;
}

}  // namespace evener
