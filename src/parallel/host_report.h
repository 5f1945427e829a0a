// Sums up in one sentence how a run on several hosts ended, from the messages of its starter (mpirun or srun).
#pragma once

#include <string>
#include <vector>

namespace evener::parallel {

class HostReport {
 public:
  explicit HostReport(int hosts) : hosts_(hosts) {}

  /// Takes a line of the starter's stderr, which also carries the stderr of all hosts' processes. True: the line should
  /// be shown to the user now. False: it is kept for text().
  bool take(const std::string& line);

  /// Whether anything has failed so far.
  bool failed() const { return failed_; }
  /// A host doesn't answer, and the starter would wait for it for ever.
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
  std::string finding_;               // the failure that the starter's messages told of
  std::vector<std::string> block_;    // lines of mpirun's message between two rows of dashes
  std::vector<std::string> unknown_;  // lines that were not recognised
};

}  // namespace evener::parallel
