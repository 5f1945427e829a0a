// Distances of all faces to all, against a plain loop.
// Who is who, and which faces of a video are one track, on faces that are angles on a circle: two that are a degrees
// apart have the distance 2 sin(a / 2). Rates of right and wrong answers, on pairs whose rates a pencil gives.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/thrown.h"
#include "faces/persons/compare.h"
#include "faces/persons/group.h"
#include "faces/persons/track.h"
#include "faces/persons/verify.h"
#include "support/run_program.h"

namespace evener::faces {
namespace {

using testing::ElementsAre;
using ::testing::SizeIs;

/// `middle`: how far each number is from 0 on average, beside a deviation of 1; large: all rows are near each other.
Embeddings random_embeddings(std::size_t count, std::size_t dimensions, double middle = 0) {
  Random random(3, Purpose::kInit);
  Embeddings embeddings;
  std::vector<float> row(dimensions);
  for (std::size_t i = 0; i < count; ++i) {
    for (float& value : row) value = static_cast<float>(middle + random.normal());
    embeddings.add(row);
  }
  return embeddings;
}

double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(sum);
}

TEST(Embeddings, HaveLengthOne) {
  Embeddings embeddings;
  embeddings.add(std::vector<float>{3, 0, -4});
  embeddings.add(std::vector<float>{0, 0, 0});
  EXPECT_EQ(embeddings.size(), 2U);
  EXPECT_THAT(embeddings.values, testing::ElementsAre(0.6F, 0, -0.8F, 0, 0, 0)) << "no direction stays none";
}

// More rows than a block has, in dimensions that no vector of the processor divides.
TEST(Distances, BlocksAreWhatAPlainLoopGives) {
  const Embeddings embeddings = random_embeddings(300, 19);
  for (const int threads : {1, 3}) {
    std::size_t rows = 0;
    each_distance_block(embeddings, threads, [&](std::size_t begin, std::size_t end, std::span<const float> block) {
      EXPECT_EQ(begin, rows) << "in their order";
      rows = end;
      ASSERT_EQ(block.size(), (end - begin) * embeddings.size());
      for (std::size_t row = begin; row < end; ++row) {
        for (std::size_t other = 0; other < embeddings.size(); ++other) {
          // 2 - 2 c loses digits where two rows are near each other; these are not.
          ASSERT_NEAR(block[(row - begin) * embeddings.size() + other], distance(embeddings[row], embeddings[other]),
                      1e-5);
        }
      }
    });
    EXPECT_EQ(rows, embeddings.size());
  }
}

TEST(CompareAll, TellsThePairsWithinTheLimitNearestFirst) {
  const Embeddings embeddings = random_embeddings(290, 24);
  constexpr float kLimit = 1.1F;
  std::vector<std::pair<std::size_t, std::size_t>> told;
  const Comparison compared = compare_all(
      embeddings, {.limit = kLimit, .bins = 4, .threads = 2, .on_pairs = [&](std::span<const NearPair> pairs) {
                     for (const NearPair& pair : pairs) told.emplace_back(pair.first, pair.second);
                   }});
  EXPECT_TRUE(std::ranges::is_sorted(told)) << "by the first row, then by the second";
  std::size_t expected = 0;
  std::vector<std::size_t> histogram(4);
  for (std::size_t a = 0; a < embeddings.size(); ++a) {
    for (std::size_t b = a + 1; b < embeddings.size(); ++b) {
      const double apart = distance(embeddings[a], embeddings[b]);
      expected += apart <= kLimit ? 1 : 0;
      ++histogram[std::min<std::size_t>(3, static_cast<std::size_t>(2 * apart))];
    }
  }
  EXPECT_EQ(compared.pairs.size(), expected);
  EXPECT_EQ(compared.pairs_within, expected);
  EXPECT_EQ(compared.histogram, histogram);
  EXPECT_EQ(compared.to_group.size(), expected);
  EXPECT_GT(expected, 50U);
  EXPECT_TRUE(std::ranges::is_sorted(compared.pairs, {}, &NearPair::distance));
  for (const NearPair& pair : compared.pairs) {
    EXPECT_LT(pair.first, pair.second);
    EXPECT_TRUE(std::ranges::binary_search(told, std::pair(pair.first, pair.second)));
    EXPECT_NEAR(pair.distance, distance(embeddings[pair.first], embeddings[pair.second]), 1e-5);
  }
}

TEST(CompareAll, OfVeryManyPairsTheNearestAreKept) {
  const Embeddings embeddings = random_embeddings(60, 8);
  const Comparison all = compare_all(embeddings, {.limit = 2, .threads = 1});
  ASSERT_EQ(all.pairs.size(), 60U * 59 / 2);
  const Comparison few = compare_all(embeddings, {.limit = 2, .most_pairs = 100, .most_of_each_face = 3, .threads = 1});
  EXPECT_EQ(few.pairs_within, all.pairs.size());
  ASSERT_EQ(few.pairs.size(), 100U);
  for (std::size_t i = 0; i < few.pairs.size(); ++i) EXPECT_EQ(few.pairs[i].distance, all.pairs[i].distance);
  std::vector<std::size_t> seen(60);
  for (const NearPair& pair : few.to_group) ++seen[pair.first], ++seen[pair.second];
  EXPECT_GE(*std::ranges::min_element(seen), 3U) << "each face has its nearest";
  EXPECT_LE(few.to_group.size(), 180U);
  EXPECT_TRUE(std::ranges::is_sorted(few.to_group, {}, &NearPair::distance));
}

/// Rows on a circle.
Embeddings at_degrees(const std::vector<double>& all) {
  Embeddings embeddings;
  for (const double degrees : all) {
    const double angle = degrees * std::numbers::pi / 180;
    embeddings.add(std::vector<float>{static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  return embeddings;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

Pairs rows_of(const std::vector<NearPair>& pairs) {
  Pairs rows;
  for (const NearPair& pair : pairs) rows.emplace_back(pair.first, pair.second);
  return rows;
}

TEST(CompareAll, OfEquallyNearOnesTheFirstComeFirst) {
  std::vector<std::uint32_t> nearest;
  const Comparison compared = compare_all(
      at_degrees({0, 0, 0, 0, 0, 0}),
      {.limit = 0, .bins = 4, .most_pairs = 4, .neighbours = 2, .on_neighbours = [&](const Neighbours& block) {
         nearest = block.rows;
       }});
  EXPECT_THAT(nearest, ElementsAre(1, 2, 0, 2, 0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_EQ(rows_of(compared.pairs), (Pairs{{0, 1}, {0, 2}, {0, 3}, {0, 4}}));
  EXPECT_EQ(compared.pairs_within, 15U);
  EXPECT_THAT(compared.histogram, ElementsAre(15, 0, 0, 0));
}

TEST(CompareAll, ThePairAtTheLimitIsWithinItAndOppositeRowsAreTheFarthest) {
  Embeddings axes;
  for (const auto& row : {std::vector<float>{1, 0}, {0, 1}, {-1, 0}}) axes.add(row);
  const Comparison compared = compare_all(axes, {.limit = std::sqrt(2.0F), .bins = 4});
  EXPECT_EQ(rows_of(compared.pairs), (Pairs{{0, 1}, {1, 2}}));
  EXPECT_THAT(compared.histogram, ElementsAre(0, 0, 2, 1));
}

TEST(CompareAll, GroupsGrowFromPairsWithinTheLimitAlone) {
  const auto to_group = [](std::size_t of_each) {
    CompareOptions options{.limit = 0.5F, .most_pairs = 1, .most_of_each_face = of_each, .neighbours = 3};
    options.on_neighbours = [](const Neighbours&) {};
    return rows_of(compare_all(at_degrees({0, 10, 21, 180}), options).to_group);
  };
  EXPECT_EQ(to_group(3), (Pairs{{0, 1}, {1, 2}, {0, 2}})) << "the last row is like no other";
  EXPECT_EQ(to_group(1), (Pairs{{0, 1}, {1, 2}})) << "however many neighbours are told";
}

TEST(CompareAll, ItsProgressIsTheShareOfAllPairs) {
  Pairs told;
  compare_all(random_embeddings(64, 8),
              {.on_progress = [&](std::size_t done, std::size_t all) { told.emplace_back(done, all); }});
  EXPECT_EQ(told, (Pairs{{48, 64}, {64, 64}})) << "half of the rows are three quarters of the pairs";
}

TEST(CompareAll, AStopRequestEndsIt) {
  const Embeddings embeddings = random_embeddings(40, 8);
  const auto reason = [](const auto& work) {
    request_stop();
    const std::string text = test::thrown_by<Interrupted>(work);
    clear_stop_request();
    return text;
  };
  EXPECT_EQ(reason([&] { compare_all(embeddings, {}); }), "interrupted while faces were compared");
  EXPECT_EQ(
      reason([&] { each_distance_block(embeddings, 1, [](std::size_t, std::size_t, std::span<const float>) {}); }),
      "interrupted while faces were compared");
}

TEST(CompareAll, FewerRowsAreToldTogetherWhereTheyHaveManyPairs) {
  const auto largest_block = [](float limit) {
    std::size_t largest = 0;
    CompareOptions options{.limit = limit, .most_pairs_at_once = 20'000, .neighbours = 1, .threads = 2};
    options.on_neighbours = [&](const Neighbours& block) { largest = std::max(largest, block.rows.size()); };
    compare_all(random_embeddings(700, 16), options);
    return largest;
  };
  EXPECT_GE(largest_block(0.05F), 256U) << "as many as were looked at before";
  EXPECT_LE(largest_block(2), 120U) << "all of the others are within the limit";
}

TEST(CompareAll, NothingAndOneFaceHaveNoPairs) {
  EXPECT_TRUE(compare_all({}, {.limit = 2}).pairs.empty());
  EXPECT_TRUE(compare_all(random_embeddings(1, 8), {.limit = 2}).pairs.empty());
}

/// Rows 2i and 2i + 1 are some 0.05 apart, and far from all others.
Embeddings twins(std::size_t pairs, std::size_t dimensions) {
  constexpr double kApart = 0.05;
  Random random(4, Purpose::kInit);
  Embeddings embeddings;
  std::vector<float> row(dimensions);
  for (std::size_t i = 0; i < pairs; ++i) {
    for (float& value : row) value = static_cast<float>(random.normal());
    embeddings.add(row);
    for (float& value : row) value += static_cast<float>(kApart * random.normal());
    embeddings.add(row);
  }
  return embeddings;
}

// So many that products are first rounded to bfloat16 on processors with tiles of it.
TEST(CompareAll, OfMoreRowsThanAreLookedAtInFp32AloneEachFindsItsTwin) {
  const Embeddings embeddings = twins(10'050, 16);
  const std::size_t all = embeddings.size();
  ASSERT_GT(all, CompareOptions().most_in_fp32);
  std::vector<std::uint32_t> nearest;
  const Comparison compared =
      compare_all(embeddings, {.limit = 0.15F,
                               .most_of_each_face = 2,
                               .neighbours = 1,
                               .threads = 2,
                               .on_neighbours = [&](const Neighbours& block) {
                                 nearest.insert(nearest.end(), block.rows.begin(), block.rows.end());
                               }});
  ASSERT_EQ(compared.pairs.size(), all / 2);
  EXPECT_EQ(compared.pairs_within, all / 2);
  EXPECT_EQ(compared.to_group.size(), all / 2);
  for (const NearPair& pair : compared.pairs) {
    ASSERT_EQ(pair.second, pair.first ^ 1U);
    ASSERT_NEAR(pair.distance, distance(embeddings[pair.first], embeddings[pair.second]), 1e-6);
  }
  ASSERT_EQ(nearest.size(), all);
  for (std::size_t row = 0; row < all; ++row) ASSERT_EQ(nearest[row], row ^ 1U);
  EXPECT_EQ(std::accumulate(compared.histogram.begin(), compared.histogram.end(), std::size_t{0}), all * (all - 1) / 2)
      << "every pair is counted once";
}

/// What is told of 900 rows is what a plain loop finds. They are so near each other that bfloat16 can't tell them
/// apart.
void expect_nearest_neighbours(std::size_t most_in_fp32) {
  const Embeddings embeddings = random_embeddings(900, 33, 20);
  constexpr float kLimit = 0.045F;
  Neighbours found;
  std::size_t pairs = 0, expected_twice = 0;
  const Comparison compared = compare_all(
      embeddings, {.limit = kLimit,
                   .most_of_each_face = 5,
                   .most_in_fp32 = most_in_fp32,
                   .neighbours = 5,
                   .threads = 2,
                   .on_neighbours =
                       [&](const Neighbours& block) {
                         EXPECT_EQ(block.begin * 5, found.rows.size()) << "blocks come in their order";
                         found.rows.insert(found.rows.end(), block.rows.begin(), block.rows.end());
                         found.distances.insert(found.distances.end(), block.distances.begin(), block.distances.end());
                       },
                   .on_pairs = [&](std::span<const NearPair> of_row) { pairs += of_row.size(); }});
  EXPECT_EQ(pairs, compared.pairs_within);
  EXPECT_GT(pairs, 0U);
  ASSERT_EQ(found.rows.size(), embeddings.size() * 5);
  for (std::size_t row = 0; row < embeddings.size(); ++row) {
    std::vector<std::pair<double, std::size_t>> others;
    for (std::size_t other = 0; other < embeddings.size(); ++other) {
      if (other != row) others.emplace_back(distance(embeddings[row], embeddings[other]), other);
    }
    std::ranges::sort(others);
    expected_twice += static_cast<std::size_t>(
        std::ranges::count_if(others, [](const auto& other) { return other.first <= kLimit; }));
    for (std::size_t k = 0; k < 5; ++k) {
      ASSERT_NEAR(found.distances[row * 5 + k], others[k].first, 1e-5) << row;
      ASSERT_NEAR(distance(embeddings[row], embeddings[found.rows[row * 5 + k]]), others[k].first, 1e-5) << row;
    }
  }
  EXPECT_EQ(2 * pairs, expected_twice);
}

TEST(NearestNeighbours, AreTheNearestOfAllOthers) {
  expect_nearest_neighbours(1000);
  EXPECT_THAT(test::thrown_by([] { compare_all(random_embeddings(5, 4), {.neighbours = 5}); }),
              testing::HasSubstr("the 5 nearest of 5 rows"));
}

// Where processors have tiles of bfloat16; elsewhere this is the test above once more.
TEST(NearestNeighbours, AreTheSameWhereProductsAreFirstComputedInBfloat16) {
  expect_nearest_neighbours(0);
}

// A process finds out once which instructions it may use.
TEST(CompareAll, IsTheSameOnNarrowerProcessors) {
  for (const char* level : {"avx2", "baseline"}) {
    const test::ProgramResult result =
        test::RunningProgram("/proc/self/exe",
                             {"--gtest_filter=Distances.*:CompareAll.TellsThePairs*:CompareAll.OfMoreRows*"},
                             {.environment = {{"EVENER_SIMD", level}}})
            .finish();
    EXPECT_EQ(result.exit_code, 0) << level << ": " << result.out;
    EXPECT_THAT(result.out, testing::HasSubstr("[  PASSED  ] 3 tests"));
  }
}

constexpr float kLimit = 0.7F;  // 41 degrees

struct Seen {
  double degrees = 0;
  std::size_t photo = 0;
  bool can_found = true;
};

std::vector<int> grouped(const std::vector<Seen>& seen) {
  std::vector<double> degrees;
  std::vector<FaceFacts> facts;
  for (const Seen& face : seen) {
    degrees.push_back(face.degrees);
    facts.push_back({face.photo, face.can_found});
  }
  const Embeddings embeddings = at_degrees(degrees);
  return group_faces(embeddings, facts, compare_all(embeddings, {.limit = kLimit}).to_group, {kLimit});
}

TEST(GroupFaces, ThoseThatAreAlikeAreOnePersonInTheOrderOfTheirFirstFaces) {
  EXPECT_THAT(grouped({{200, 0}, {0, 1}, {90, 2}, {5, 3}, {-5, 4}, {205, 5}}), ElementsAre(0, 1, -1, 1, 1, 0));
  EXPECT_THAT(grouped({}), ElementsAre());
  EXPECT_THAT(grouped({{0, 0}}), ElementsAre(-1));
}

TEST(GroupFaces, TwoFacesOfOnePhotoAreNeverOnePerson) {
  EXPECT_THAT(grouped({{0, 0}, {1, 0}}), ElementsAre(-1, -1));
  EXPECT_THAT(grouped({{0, 0}, {4, 0}, {1, 1}}), ElementsAre(0, -1, 0)) << "the nearer one is the person";
  // Both groups hold a face of photo 0, so they stay apart though all are near.
  EXPECT_THAT(grouped({{0, 0}, {1, 1}, {8, 0}, {9, 2}}), ElementsAre(0, 0, 1, 1));
}

TEST(GroupFaces, ABridgeDoesNotChainTwoPersons) {
  // Each is less than 30 degrees from the next, well within the limit; the ends are 91 apart.
  EXPECT_THAT(grouped({{0, 0}, {2, 1}, {31, 2}, {60, 3}, {62, 4}, {89, 5}, {91, 6}}), ElementsAre(0, 0, 0, 1, 1, 1, 1));
  const std::vector<int> groups = grouped({{0, 0}, {2, 1}, {38, 2}, {74, 3}, {76, 4}});
  EXPECT_EQ(groups[0], groups[1]);
  EXPECT_EQ(groups[3], groups[4]);
  EXPECT_NE(groups[0], groups[4]) << "the face in the middle is near to both";
}

TEST(GroupFaces, APersonInTwoWaysIsOnePerson) {
  // 0 and 44 degrees are beyond the limit on average; 20 of 36 pairs are within it, and those are everywhere.
  std::vector<Seen> seen;
  for (const double degrees : {0.0, 3.0, 6.0, 42.0, 45.0, 48.0}) seen.push_back({degrees, seen.size()});
  EXPECT_THAT(grouped(seen), ElementsAre(0, 0, 0, 0, 0, 0));
  // The same two ways on one photo are two persons.
  seen[3].photo = 0;
  EXPECT_THAT(grouped(seen), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(GroupFaces, OfTwoThatMayBeJoinedTheDenserOnesAre) {
  // The first three are near four of nine faces of the next three, and five of nine of the last three; these two have
  // a photo in common, so that both can't be.
  const std::vector<Seen> seen = {{0, 0}, {3, 1}, {6, 2}, {38, 3}, {45, 4}, {52, 20}, {-32, 6}, {-36, 7}, {-46, 20}};
  EXPECT_THAT(grouped(seen), ElementsAre(0, 0, 0, 1, 1, 1, 0, 0, 0));
}

TEST(GroupFaces, PoorFacesJoinTheNearestPerson) {
  EXPECT_THAT(grouped({{0, 0}, {3, 1}, {26, 2, false}, {60, 3}, {57, 4}}), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(grouped({{0, 0}, {3, 1}, {34, 2, false}, {60, 3}, {57, 4}}), ElementsAre(0, 0, 1, 1, 1));
}

TEST(GroupFaces, PoorFacesJoinButFoundNone) {
  EXPECT_THAT(grouped({{0, 0, false}, {1, 1, false}}), ElementsAre(-1, -1));
  EXPECT_THAT(grouped({{0, 0}, {1, 1, false}}), ElementsAre(-1, -1)) << "one good face is no group yet";
  EXPECT_THAT(grouped({{0, 0}, {3, 1}, {10, 2, false}}), ElementsAre(0, 0, 0));
  EXPECT_THAT(grouped({{0, 0}, {3, 1}, {10, 1, false}}), ElementsAre(0, 0, -1)) << "it is on a photo of the person";
  EXPECT_THAT(grouped({{0, 0}, {3, 1}, {30, 2, false}, {60, 3}, {57, 4}}),
              testing::ElementsAre(0, 0, testing::Ge(0), 1, 1))
      << "a poor face does not bring two persons together";
}

TEST(KeepNumbers, GroupsKeepTheNumberThatMostOfTheirFacesHad) {
  EXPECT_THAT(keep_numbers({0, 0, 1, 1, -1, 2, 2}, {4, 4, 0, 0, -1, -1, -1}, 5), ElementsAre(4, 4, 0, 0, -1, 5, 5));
  EXPECT_THAT(keep_numbers({0, 0, 0, 1, 1}, {3, 3, 1, 3, 1}, 4), ElementsAre(3, 3, 3, 1, 1))
      << "a group that was torn apart keeps its number in the larger part";
  EXPECT_THAT(keep_numbers({0, 0, 0}, {7, 2, 2}, 8), ElementsAre(2, 2, 2)) << "two that were joined";
  EXPECT_THAT(keep_numbers({0, 0, 1, 1}, {-1, -1, -1, -1}, 0), ElementsAre(0, 0, 1, 1)) << "nothing was known";
  EXPECT_THAT(keep_numbers({0, 0}, {-1, -1}, 6), ElementsAre(6, 6)) << "numbers of who vanished are not given again";
}

TEST(GroupFaces, GroupsThatAreNearInOnePlaceAloneStayApart) {
  // Of three faces of either person one is near all of the other's: a third of all pairs, of one side's faces a third.
  EXPECT_THAT(grouped({{0, 0}, {1, 1}, {2, 2}, {40, 3}, {60, 4}, {62, 5}}), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(grouped({{40, 3}, {60, 4}, {62, 5}, {0, 0}, {1, 1}, {2, 2}}), ElementsAre(0, 0, 0, 1, 1, 1));
}

/// A face of a person whose embedding points into a direction of its own, a little beside it in each frame.
EmbeddedFace face_at(float x, int person, float probability = 0.99F, float side = 40, float nose = 0.5F) {
  EmbeddedFace face;
  face.face.box = {x, 10, x + side, 10 + side, probability};
  face.face.landmarks[0] = {x + 0.3F * side, 20};
  face.face.landmarks[1] = {x + 0.7F * side, 20};
  face.face.landmarks[2] = {x + (0.3F + 0.4F * nose) * side, 30};
  face.embedding.assign(8, 0.05F * std::sin(x));
  face.embedding[static_cast<std::size_t>(person)] = 3;
  return face;
}

using Frames = std::vector<std::vector<EmbeddedFace>>;

std::vector<FaceTrack> link(const Frames& frames, double step_s = 0.04) {
  std::vector<FrameFaces> seen;
  for (std::size_t i = 0; i < frames.size(); ++i) seen.push_back({step_s * static_cast<double>(i), &frames[i]});
  return link_faces(seen);
}

TEST(FaceTracks, OneForEachPersonWhateverTheOrderOnTheFrames) {
  Frames frames;
  for (int i = 0; i < 10; ++i) {
    const auto x = static_cast<float>(3 * i);
    frames.push_back({face_at(x, 0), face_at(200 - x, 1)});
    if (i % 2 == 1) std::swap(frames.back()[0], frames.back()[1]);
  }
  const std::vector<FaceTrack> tracks = link(frames);
  ASSERT_THAT(tracks, SizeIs(2));
  for (const FaceTrack& track : tracks) EXPECT_THAT(track.faces, SizeIs(10));
  EXPECT_DOUBLE_EQ(tracks[0].first_s, 0);
  EXPECT_NEAR(tracks[0].last_s, 0.36, 1e-12);
  EXPECT_EQ(tracks[1].faces[3].face, 0U) << "of person 1, who came first on that frame";
}

TEST(FaceTracks, WhoMovesFarIsKnownByTheEmbeddingAndWhoIsUnlikeIsNot) {
  EXPECT_THAT(link({{face_at(0, 0)}, {face_at(300, 0)}}, 1), SizeIs(1)) << "a frame of each second";
  EXPECT_THAT(link({{face_at(0, 0)}, {face_at(0, 1)}}), SizeIs(2)) << "a cut: another person at the same place";
  EXPECT_THAT(link({{face_at(0, 0)}, {face_at(300, 1)}}), SizeIs(2));
}

TEST(FaceTracks, AFaceThatIsMissedForAMomentGoesOn) {
  Frames frames(8);
  for (const std::size_t i : {0U, 1U, 5U, 6U}) frames[i] = {face_at(static_cast<float>(i), 0)};
  EXPECT_THAT(link(frames), SizeIs(1));
  EXPECT_THAT(link(frames, 2), SizeIs(2)) << "four frames of two seconds each are no moment";
}

TEST(FaceTracks, CrossingFacesKeepTheirTracks) {
  Frames frames;
  for (int i = 0; i < 9; ++i) {
    frames.push_back({face_at(static_cast<float>(10 * i), 0), face_at(static_cast<float>(80 - 10 * i), 1)});
  }
  const std::vector<FaceTrack> tracks = link(frames);
  ASSERT_THAT(tracks, SizeIs(2));
  for (const TrackedFace& one : tracks[0].faces) EXPECT_EQ(one.face, 0U) << "frame " << one.frame;
}

TEST(FaceTracks, TheBestFaceIsLargeSureAndLooksAhead) {
  const Frames frames = {
      {face_at(0, 0, 0.99F, 40, 0.9F)}, {face_at(0, 0, 0.5F)}, {face_at(0, 0)}, {face_at(0, 0, 0.99F, 36)}};
  const std::vector<FaceTrack> tracks = link(frames);
  ASSERT_THAT(tracks, SizeIs(1));
  EXPECT_EQ(tracks[0].best, 2U);
  EXPECT_NEAR(face_quality(face_at(0, 0).face), 40 * 0.99, 1e-4);
  EXPECT_NEAR(face_quality(face_at(0, 0, 0.99F, 40, 1).face), 0, 1e-4) << "the nose is under an eye: a profile";
}

/// The same person's embedding, turned by so much.
EmbeddedFace turned_face(float x, double degrees, float length = 1) {
  EmbeddedFace face = face_at(x, 0);
  const double angle = degrees * std::numbers::pi / 180;
  face.embedding = {length * static_cast<float>(std::cos(angle)), length * static_cast<float>(std::sin(angle))};
  return face;
}

TEST(FaceTracks, AFaceIsLikeATrackByItsLastFaceOrByTheMeanOfAll) {
  // 30 degrees are near, 55 are so at the same place alone, 65 nowhere.
  EXPECT_THAT(link({{turned_face(0, 0)}, {turned_face(0, 55)}}), SizeIs(1));
  EXPECT_THAT(link({{turned_face(0, 0)}, {turned_face(300, 55)}}), SizeIs(2));
  EXPECT_THAT(link({{turned_face(0, 0)}, {turned_face(0, 65)}}), SizeIs(2));
  EXPECT_THAT(link({{turned_face(0, 0)}, {turned_face(20, 55)}}), SizeIs(1)) << "20 of 60 pixels are common";
  EXPECT_THAT(link({{turned_face(0, 0)}, {turned_face(22, 55)}}), SizeIs(2)) << "18 of 62 are less than three tenths";
  EXPECT_THAT(
      link(
          {{turned_face(0, 0)}, {turned_face(0, 0)}, {turned_face(0, 0)}, {turned_face(0, 50)}, {turned_face(300, 0)}}),
      SizeIs(1))
      << "the last one looked aside";
  EXPECT_THAT(link({{turned_face(0, 0)}, {turned_face(100, 30)}, {turned_face(200, 60)}, {turned_face(300, 90)}}),
              SizeIs(1))
      << "who turns round slowly";
}

TEST(FaceTracks, AFaceGoesToTheTrackThatItIsMostLike) {
  const auto second = [](const EmbeddedFace& a, const EmbeddedFace& b, const EmbeddedFace& face) {
    const std::vector<FaceTrack> tracks = link({{a, b}, {face}});
    return tracks.size() == 2 && tracks[1].faces.size() == 2;
  };
  EXPECT_TRUE(second(turned_face(0, 0), turned_face(30, 30), turned_face(30, 0))) << "by its place";
  EXPECT_FALSE(second(turned_face(0, 0), turned_face(4, 40), turned_face(2, 0))) << "by its embedding";
  EXPECT_TRUE(second(turned_face(0, 0), turned_face(4, 40), turned_face(2, 40)));
}

TEST(FaceTracks, AMomentIsThreeFramesOrASecondSinceTheLastFace) {
  const auto tracks = [](const std::vector<std::size_t>& seen, double step_s) {
    Frames frames(seen.back() + 1);
    for (const std::size_t i : seen) frames[i] = {face_at(0, 0)};
    return link(frames, step_s).size();
  };
  EXPECT_EQ(tracks({0, 3}, 2), 1U) << "two frames were missed, and six seconds are over";
  EXPECT_EQ(tracks({0, 4}, 2), 2U);
  EXPECT_EQ(tracks({0, 1, 2, 3, 4, 5, 9}, 0.2), 1U) << "0.8 s, though the track began 1.8 s ago";
  EXPECT_EQ(tracks({0, 5, 10}, 0.25), 3U);
}

TEST(FaceTracks, QualityIsOfTheAreaAndOfTheNoseBetweenTheEyes) {
  Face face = face_at(0, 0, 0.5F, 20, 0.25F).face;
  EXPECT_NEAR(face_quality(face), 20 * 0.5 * 0.5, 1e-4);
  face.box.y2 = face.box.y1 + 45;
  EXPECT_NEAR(face_quality(face), 30 * 0.5 * 0.5, 1e-4) << "of a square as large";
  for (Point& point : face.landmarks) point = {-point.y, point.x};
  EXPECT_NEAR(face_quality(face), 30 * 0.5 * 0.5, 1e-4) << "of a head that lies on its side";
  EXPECT_NEAR(face_quality(face_at(0, 0, 1, 20, 0.75F).face), 10, 1e-4);
  EXPECT_EQ(face_quality(face_at(0, 0, 1, 20, 1.2F).face), 0) << "beside both eyes";
  EXPECT_EQ(face_quality(Face()), 0);
}

TEST(FaceTracks, TheMeanIsOfDirections) {
  const std::vector<FaceTrack> tracks = link({{turned_face(0, 0, 10)}, {turned_face(0, 40, 0.1F)}});
  ASSERT_THAT(tracks, SizeIs(1));
  EXPECT_NEAR(std::atan2(tracks[0].embedding[1], tracks[0].embedding[0]), 20 * std::numbers::pi / 180, 1e-4);
  EXPECT_GT(link({{face_at(0, 2, 1, 40, 1)}})[0].embedding[2], 0) << "a profile is somebody, too";
}

TEST(FaceTracks, TheMeanEmbeddingPointsToThePerson) {
  const std::vector<FaceTrack> tracks = link({{face_at(0, 2)}, {face_at(1, 2)}});
  ASSERT_THAT(tracks, SizeIs(1));
  double squares = 0;
  for (const float value : tracks[0].embedding) squares += double{value} * double{value};
  EXPECT_GT(tracks[0].embedding[2] / std::sqrt(squares), 0.99);
}

TEST(FaceTracks, OverlapIsIntersectionOverUnion) {
  EXPECT_DOUBLE_EQ(overlap_of({0, 0, 10, 10, 1}, {5, 0, 15, 10, 1}), 50.0 / 150);
  EXPECT_DOUBLE_EQ(overlap_of({0, 0, 10, 10, 1}, {10, 0, 20, 10, 1}), 0);
  EXPECT_DOUBLE_EQ(overlap_of({0, 0, 10, 10, 1}, {0, 10, 10, 20, 1}), 0);
  EXPECT_DOUBLE_EQ(overlap_of({2, 3, 12, 23, 1}, {4, 8, 14, 18, 1}), 80.0 / 220);
  EXPECT_THAT(link({}), SizeIs(0));
}

TEST(Verify, PairsThatAreApartAreAllRight) {
  std::vector<JudgedPair> pairs;
  for (int i = 0; i < 100; ++i) pairs.push_back({0.5 + i * 0.001, true});
  for (int i = 0; i < 100; ++i) pairs.push_back({1.2 + i * 0.001, false});
  const Verification found = verify(pairs);
  EXPECT_EQ(found.same, 100U);
  EXPECT_EQ(found.accuracy, 1);
  EXPECT_EQ(found.equal_error_rate, 0);
  EXPECT_NEAR(found.equal_error_distance, 0.599, 1e-9);
  EXPECT_EQ(found.accepted_at_1_percent, 1);
  EXPECT_FALSE(found.accepted_at_01_percent) << "of 100 no thousandth can be told";
}

TEST(Verify, RatesAreSharesOfEachKind) {
  // Of 10 of the same one lies at 1.5; of 100 different ten lie at 0.5, below all of the same but one at 0.4.
  std::vector<JudgedPair> pairs = {{1.5, true}, {0.4, true}};
  for (int i = 0; i < 8; ++i) pairs.push_back({0.8, true});
  for (int i = 0; i < 10; ++i) pairs.push_back({0.5, false});
  for (int i = 0; i < 90; ++i) pairs.push_back({1.2, false});
  const Verification found = verify(pairs);
  EXPECT_DOUBLE_EQ(found.equal_error_rate, 0.1) << "at 0.8: a tenth of each kind";
  EXPECT_DOUBLE_EQ(found.equal_error_distance, 0.8);
  EXPECT_DOUBLE_EQ(found.accepted_at_1_percent.value(), 0.1) << "at 0.4, before the ten";
  EXPECT_NEAR(found.accuracy, 10.0 / 11, 1e-9)
      << "refusing nearly all is right most often, with so many different ones";
}

TEST(Verify, JustAHundredthIsWithinIt) {
  // Of 100 different ones one lies at 0.3 and the next at 0.5; of the same four are nearer than the second.
  std::vector<JudgedPair> pairs = {{0.2, true}, {0.4, true}, {0.4, true}, {0.45, true}, {0.6, true}, {0.3, false}};
  for (int i = 0; i < 99; ++i) pairs.push_back({0.5 + i * 0.001, false});
  EXPECT_DOUBLE_EQ(verify(pairs).accepted_at_1_percent.value(), 0.8);
}

TEST(Verify, JustAThousandthIsWithinIt) {
  std::vector<JudgedPair> pairs = {{0.2, true}, {0.4, true}, {0.45, true}, {0.6, true}, {0.3, false}};
  for (int i = 0; i < 999; ++i) pairs.push_back({0.5 + i * 0.0001, false});
  EXPECT_DOUBLE_EQ(verify(pairs).accepted_at_01_percent.value(), 0.75);
  EXPECT_DOUBLE_EQ(verify(pairs).accepted_at_1_percent.value(), 0.75);
}

TEST(Verify, TheEqualErrorRateIsTheMeanOfBothRatesWhereTheyAreNearest) {
  // At 0.3 half of two pairs are wrongly accepted, and a third of three wrongly refused.
  const Verification found = verify({{0.1, true}, {0.2, true}, {0.5, true}, {0.3, false}, {0.6, false}});
  EXPECT_DOUBLE_EQ(found.equal_error_rate, 5.0 / 12);
  EXPECT_DOUBLE_EQ(found.equal_error_distance, 0.3);
}

TEST(Verify, TheCurveGoesFromNothingToAllThroughTheRatesOfEachLimit) {
  const Verification found = verify({{0.1, true}, {0.3, true}, {0.2, false}, {0.4, false}});
  std::vector<std::pair<double, double>> curve;
  for (const AcceptedShares& point : found.curve) curve.emplace_back(point.different, point.same);
  using Point = std::pair<double, double>;
  EXPECT_THAT(curve, testing::ElementsAre(Point(0, 0), Point(0, 0.5), Point(0.5, 0.5), Point(0.5, 1), Point(1, 1)));
  std::vector<JudgedPair> many;
  for (int i = 0; i < 20000; ++i) many.push_back({i * 1e-4, i % 2 == 0});
  EXPECT_LT(verify(many).curve.size(), 500U);
  EXPECT_EQ(verify(many).curve.back().same, 1);
}

TEST(Verify, FewPairsAreRefused) {
  EXPECT_THROW(verify({}), Error);
  EXPECT_THAT(test::thrown_by([] {
                verify({{0.1, true}, {0.2, true}, {0.3, false}});
              }),
              testing::HasSubstr("there are 2 and 1"));
  EXPECT_EQ(verify({{0.1, true}, {0.2, true}, {0.9, false}, {0.8, false}}).accuracy, 1);
}

TEST(Verify, TheLimitLiesInTheMiddleOfTheGap) {
  // Each pair is tried with the limit that the others give: that of 0.1 and 0.9 tells 0.3 rightly, 0.1 itself doesn't.
  EXPECT_EQ(verify({{0.3, true}, {0.1, true}, {0.9, false}, {0.9, false}}).accuracy, 1);
}

}  // namespace

}  // namespace evener::faces
