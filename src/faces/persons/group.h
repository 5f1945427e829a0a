// Groups faces by person.
#pragma once

#include <cstddef>
#include <vector>

#include "faces/persons/compare.h"

namespace evener::faces {

/// What grouping needs to know of a face beside its embedding.
struct FaceFacts {
  std::size_t photo = 0;  // the number of its photo
  bool can_found = true;  // large and clear enough to begin a group; others only join one
};

struct GroupOptions {
  float limit = 1;  // faces of one person are no farther apart, on average
};

/// Returns for each face the number of its group, or -1 for a face that is like no other. Groups are numbered from 0,
/// in the order of their first faces.
///
/// Groups grow from the nearest pair to the farthest: two are joined where the mean squared distance of their faces,
/// each of the one to each of the other, is within the limit (average linkage), so that a chain of faces that are alike
/// two by two can't join two persons. Then two groups are joined where three of ten of the pairs between them are
/// within the limit: they are one person who was photographed in two ways. Two faces of one photo are never in one
/// group. Faces that can't found a group join the nearest one at the end, by the same measure.
std::vector<int> group_faces(const Embeddings& embeddings, const std::vector<FaceFacts>& faces,
                             const std::vector<NearPair>& pairs, const GroupOptions& options);

/// Renumbers `groups` so that a person keeps their number when photos are added: a group gets the number that most of
/// its faces had `before` (one for each face; -1 = none). Where two groups claim a number, the one with more of its
/// faces gets it; the other and new groups get numbers from `first_new` on.
std::vector<int> keep_numbers(const std::vector<int>& groups, const std::vector<int>& before, int first_new);

}  // namespace evener::faces
