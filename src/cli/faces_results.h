// What `evener faces` leaves behind: faces.csv, embeddings.safetensors, pairs.csv, distances.npy, and a page.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "task/faces/compare.h"
#include "task/faces/faces.h"
#include "task/faces/group.h"

namespace evener::cli {

/// All faces of a run, in the order of the photos.
struct FoundFaces {
  std::vector<task::EmbeddedFace> faces;  // without their embeddings
  task::Embeddings embeddings;
  std::vector<int> groups;             // of each face; -1 = like no other
  std::vector<task::NearPair> pairs;   // up to the limit, nearest first
  std::vector<std::size_t> histogram;  // of all distances from 0 to 2
  float limit = 1;
  std::size_t persons = 0;
};

/// Compares all faces with all, and groups them. `founder_size`: pixels of the shorter side of a face that may found a
/// group.
FoundFaces compare_faces(std::vector<task::EmbeddedFace> faces, float limit, int founder_size, int threads);

/// Writes all files into `folder`. `summary`: sentences for the page. Throws Error where one can't be written.
void write_faces(const std::filesystem::path& folder, const FoundFaces& found, const data::Pictures& photos,
                 const std::string& title, const std::vector<std::string>& summary, int threads);

}  // namespace evener::cli
