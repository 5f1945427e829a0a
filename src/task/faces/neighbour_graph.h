// Finds rows that are near each other without comparing all with all: by a hierarchical navigable small world (Malkov,
// Yashunin: Efficient and robust approximate nearest neighbor search using HNSW graphs, 2018). A row is linked to some
// that are near it in different directions; a search follows the links to whatever is nearer. Above the graph of all
// rows lie graphs of ever fewer, by which a search comes near quickly.
//
// The way is found by rows in 8 bits, of which memory brings four times as many; what was found is compared again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "data/each_index.h"
#include "task/faces/coarse_rows.h"
#include "task/faces/compare.h"

namespace evener::task {

struct GraphOptions {
  std::size_t links = 16;     // of a row on each level; on the lowest twice as many
  std::size_t breadth = 128;  // rows that are looked at for them: more is slower and better
  std::uint64_t seed = 1;     // of the rows' levels and of their order
  int threads = 1;
};

class NeighbourGraph {
 public:
  /// `embeddings`, of length 1, have to outlive the graph and stay as they are. With several threads the links depend
  /// on who comes first. Throws Interrupted when a stop is requested.
  NeighbourGraph(const Embeddings& embeddings, const GraphOptions& options, const data::Progress& progress = {});

  /// The `count` rows nearest to row `row`, without itself, nearest first; fewer where fewer can be reached. `breadth`
  /// rows are kept in view: more is slower and misses less. May be called by several threads at once.
  std::vector<std::pair<float, std::uint32_t>> nearest(std::uint32_t row, std::size_t count, std::size_t breadth) const;

 private:
  using Row = std::uint32_t;
  using Near = std::pair<float, Row>;  // 1 - cosine by coarse_, which orders as the distance does
  struct Seen;

  float apart(Row a, Row b) const;
  /// As the rows themselves have it.
  float distance(Row a, Row b) const;
  /// Links of a row on a level, and how many of them there are.
  std::span<Row> room(Row row, std::size_t level);
  std::span<const Row> links(Row row, std::size_t level) const;
  void copy_links(Row row, std::size_t level, std::vector<Row>& to) const;

  Near descend(Row from, Row to, std::size_t level) const;
  std::vector<Near> search(Row row, std::vector<Near> from, std::size_t level, std::size_t breadth) const;
  std::vector<Near> in_different_directions(const std::vector<Near>& near, std::size_t most) const;
  void insert(Row row);
  void link(Row row, std::size_t level, Row to, float distance);

  const Embeddings& embeddings_;
  const CoarseRows coarse_;
  const GraphOptions options_;
  std::vector<std::uint8_t> top_level_;     // of each row
  std::vector<Row> lowest_;                 // per row: the number of links, then the links
  std::vector<std::uint32_t> upper_place_;  // of each row's upper levels in upper_
  std::vector<Row> upper_;                  // likewise, level by level
  Row entry_ = 0;                           // a row of the highest level
  mutable std::vector<std::mutex> locks_;   // of the rows' links, each of many rows
};

}  // namespace evener::task
