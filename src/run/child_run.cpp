#include "run/child_run.h"

#include "base/child.h"
#include "base/error.h"
#include "base/stop.h"

namespace evener::run {

record::Record run_as_child(const std::vector<std::string>& words, const std::filesystem::path& out,
                            const ChildName& name) {
  std::vector<std::string> all = {"evener"};
  all.insert(all.end(), words.begin(), words.end());
  const ChildEnd end = run_child("/proc/self/exe", all);
  if (stop_requested()) throw Interrupted("the " + name.owner + " was interrupted at " + name.name);
  if (end.good()) return record::read_record(out);
  const bool told = end.signal == 0;  // the child itself said what went wrong
  throw Error("the " + name.owner + "'s run of " + name.name + " ended with " + end_text(end) +
              (told ? "; its message is above" : "; was there too little memory?"));
}

}  // namespace evener::run
