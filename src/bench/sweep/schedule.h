// Decides which run of a sweep comes next, from the journal alone, so that a sweep that was killed goes on where it
// stopped. Makes no runs itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "record/repeats.h"
#include "record/sweep_file.h"

namespace evener::bench {

/// The order of a block's cells: a permutation of 0 .. cells-1 that depends on seed, part and block only. Block 2
/// reverses block 1: if there are few blocks, a machine that slows down could otherwise disfavour the same cell in
/// each.
std::vector<std::size_t> block_order(std::size_t cells, std::uint64_t seed, const std::string& part, int block);

class Schedule {
 public:
  Schedule(const record::SweepRecord& sweep, record::SweepJournal journal);

  /// The next run, with its folder, in the present block or in a new one. Absent if all is done.
  std::optional<record::SweepRun> next();
  /// The block that the last next() began, which has to be in the journal before the run; absent if it continued a
  /// block.
  std::optional<record::SweepBlock> begun_block();
  /// Takes in the end of a run.
  void ended(const record::SweepRun& run);
  /// Forgets the cell's runs that didn't end with kDone, so that they are made again.
  void again(const std::string& cell);

  /// The cells with ended runs that are not kDone.
  std::vector<std::string> bad_cells() const;
  /// The cell indices of the runs still to be made, one entry for each run. A stopping rule may add more later.
  std::vector<std::size_t> runs_left() const;
  const std::vector<record::SweepRun>& runs() const { return journal_.runs; }
  /// The number of ended runs of this series' cells.
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
