// --pairs: judges how well the distance of faces tells which photos show the same person.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/open/pictures.h"
#include "job/faces/results.h"
#include "record/record.h"
#include "task/faces/verify.h"

namespace evener::job {

struct PhotoPair {
  std::size_t first = 0, second = 0;  // numbers of photos
  bool same = false;
};

/// Reads lines of two files and 1 (one person) or 0, separated by commas, tabs or blanks; empty lines, lines that begin
/// with # and a heading are passed over. Files are named as among `photos`, or from the list's folder. Throws
/// UsageError naming the line that is no such pair, or whose file is not among the photos, and for too few pairs to
/// judge.
std::vector<PhotoPair> read_photo_pairs(const std::filesystem::path& list, const data::Pictures& photos);

struct JudgedPhotos {
  std::optional<task::Verification> result;  // absent where too few pairs have faces
  std::string refusal;                       // why there is no result
  std::size_t without_face = 0;              // pairs with a photo without a face, which could not be judged
};

/// Compares the largest faces of the photos of each pair, and writes the distances to `table`.
JudgedPhotos judge_pairs(const std::vector<PhotoPair>& pairs, const FoundFaces& found, const data::Pictures& photos,
                         const std::filesystem::path& table);

/// A sentence on a result, which must be there: "60 pairs of one person and 60 of two: 98.33 % told rightly, ...".
std::string judgement_text(const JudgedPhotos& judged);
/// Adds the figures of the judgement to the record.
void add_judgement(record::Record& record, const task::Verification& result);

}  // namespace evener::job
