// Which faces are of one person.
#pragma once

#include <cstddef>
#include <vector>

#include "task/faces/compare.h"

namespace evener::task {

/// What grouping has to know of a face beside its embedding.
struct FaceFacts {
  std::size_t photo = 0;  // that it is on
  bool can_found = true;  // large and clear enough to begin a group; others only join one
};

struct GroupOptions {
  float limit = 1;  // faces of one person are no farther apart, on average
};

/// For each face the number of its group from 0, in the order of their first faces; -1 for a face that is like no
/// other.
///
/// Groups grow from the nearest pair to the farthest: two are joined where the mean squared distance of their faces,
/// each of the one to each of the other, is within the limit (average linkage), so that a chain of faces that are alike
/// two by two can't join two persons. Then groups are joined between which three of ten pairs are within the limit: a
/// person who was photographed in two ways. Two faces of one photo are never in one group. Faces that can't found a
/// group join the nearest one at the end, by the same measure.
std::vector<int> group_faces(const Embeddings& embeddings, const std::vector<FaceFacts>& faces,
                             const std::vector<NearPair>& pairs, const GroupOptions& options);

/// The groups with the numbers that most of their faces had `before` (of each face; -1 = none), so that a person keeps
/// its number when photos are added. Of two groups that had one number the one with more of its faces keeps it; the
/// others get numbers from `first_new` on.
std::vector<int> keep_numbers(const std::vector<int>& groups, const std::vector<int>& before, int first_new);

}  // namespace evener::task
