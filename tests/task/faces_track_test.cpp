// Faces on the frames of a video, linked into tracks.
#include <gmock/gmock.h>

#include <cmath>

#include "task/faces/track.h"

namespace evener::task {
namespace {

using ::testing::SizeIs;

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
  EXPECT_THAT(link({}), SizeIs(0));
}

}  // namespace
}  // namespace evener::task
