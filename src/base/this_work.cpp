#include "base/this_work.h"

namespace evener {
namespace {

thread_local Work work_of_this_thread;

}  // namespace

const Work& this_work() {
  return work_of_this_thread;
}

Work this_work_until(const StopFlag* stop) {
  Work work = work_of_this_thread;
  if (stop != nullptr) work.stop = stop;
  return work;
}

WorkScope::WorkScope(const Work& work) : before_(work_of_this_thread) {
  work_of_this_thread = work;
}

WorkScope::~WorkScope() {
  work_of_this_thread = before_;
}

}  // namespace evener
