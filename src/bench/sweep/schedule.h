// Which run comes next. Nothing here runs anything: the state is what the journal says, so that a sweep that was killed
// goes on as if it hadn't been.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "record/repeats.h"
#include "record/sweep_file.h"

namespace evener::bench {

/// The order of a block's cells: a permutation of 0 .. cells-1, the same for the same seed, part and block. The second
/// block turns the first one's round: a machine that drifts would otherwise favour the same cell in all of a few
/// blocks.
std::vector<std::size_t> block_order(std::size_t cells, std::uint64_t seed, const std::string& part, int block);

class Schedule {
 public:
  Schedule(const record::SweepRecord& sweep, record::SweepJournal journal);

  /// The next run, in a block that is under way or that it begins; absent where all is done. Its folder is set.
  std::optional<record::SweepRun> next();
  /// The block that next() has begun, to be written down before the run; absent where it went on with one.
  std::optional<record::SweepBlock> begun_block();
  /// The run has ended.
  void ended(const record::SweepRun& run);
  /// Forgets runs of a cell that are not good, so that they come again.
  void again(const std::string& cell);

  /// Cells with runs that are not good.
  std::vector<std::string> bad_cells() const;
  /// Runs that are still to come, as far as is known; each with the cell's index. With a stopping rule there may be
  /// more.
  std::vector<std::size_t> runs_left() const;
  const std::vector<record::SweepRun>& runs() const { return journal_.runs; }
  /// Runs that ended, of this series and its cells.
  std::size_t done() const;

 private:
  std::size_t wanted(const std::string& part, std::size_t cell) const;
  std::size_t ended_runs(const std::string& part, const std::string& cell) const;
  bool has_failed(const std::string& cell) const;
  const record::SweepBlock* last_block(const std::string& part) const;
  std::optional<record::SweepRun> next_of(const record::SweepBlock& block) const;
  bool wants_more(const std::string& part, std::size_t cell) const;

  const record::SweepRecord& sweep_;
  record::SweepJournal journal_;
  std::optional<record::SweepBlock> begun_;
};

}  // namespace evener::bench
