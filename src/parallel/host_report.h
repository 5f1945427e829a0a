// What the starter of a run on several hosts (mpirun, srun) says about its end, in one sentence.
#pragma once

#include <string>
#include <vector>

namespace evener::parallel {

class HostReport {
 public:
  explicit HostReport(int hosts) : hosts_(hosts) {}

  /// A line of the starter's stderr, in which those of all hosts' processes are. True if it is for people; the others
  /// are kept.
  bool take(const std::string& line);

  /// Something has ended badly.
  bool failed() const { return failed_; }
  /// A host doesn't answer, so the starter waits for it in vain.
  bool no_answer() const { return error_.find("no sign of life") != std::string::npos; }
  /// A host or one of its ranks was lost: the run may go on from its last checkpoint.
  bool lost() const;
  /// What went wrong: a host's own message if there is one, otherwise what the starter said. Never empty.
  std::string text() const;

 private:
  void end_block();

  int hosts_;
  bool failed_ = false, in_block_ = false, finding_is_loss_ = false;
  std::string error_;                 // the first message of a host's process
  std::string finding_;               // what was understood of the starter's words
  std::vector<std::string> block_;    // lines between two of dashes
  std::vector<std::string> unknown_;  // what was not understood
};

}  // namespace evener::parallel
