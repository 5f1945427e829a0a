// Faces compared with those alone that a graph leads to: for so many that comparing all with all takes hours. What may
// be missed by it is measured on a sample.
#pragma once

#include "data/each_index.h"
#include "task/faces/compare.h"
#include "task/faces/neighbour_graph.h"

namespace evener::task {

struct GraphComparison {
  /// Pairs are those of a row and its nearest (CompareOptions::most_of_each_face and neighbours, whichever are more);
  /// the histogram is that of a sample, scaled to all.
  Comparison comparison;
  std::size_t sample = 0;   // rows that were compared with all
  std::size_t nearest = 0;  // that each of them has,
  double recall = 0;        // and the share of those that the graph led to
  double seconds = 0;       // that the search took, without the sample
  double all_s = 0;         // estimated: what comparing all with all would take, by the sample
};

/// As compare_all, but for pairs that the graph doesn't lead to; CompareOptions::on_pairs is not called.
GraphComparison compare_by_graph(const Embeddings& embeddings, const CompareOptions& options, const GraphOptions& graph,
                                 const data::Progress& progress = {});

}  // namespace evener::task
