# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""What does the end of a free rod weigh? A uniform rod of 1 kg and 1 m floats in space and is struck at one end.

At its end it gives way as a mass of m/4: half of the blow moves it, the rest turns it. The other end moves backwards at
half the speed, and the point two thirds along the rod, the centre of percussion, stays where it is.

It prints:

    mass felt at the end across the rod   0.2500 kg  (m/4)
    mass felt at the end along the rod    1.0000 kg  (m)
    after a blow of 1 N s:
    speed of the struck end               4.0000 m/s (4 p/m)
    speed of the centre of mass           1.0000 m/s (p/m)
    speed at two thirds                   0.0000 m/s
    speed of the other end               -2.0000 m/s (-2 p/m)
"""

import numpy as np

import robot_dynamics as rd

ROD = """
<robot name="rod">
  <link name="rod">
    <inertial>
      <mass value="1"/>
      <inertia ixx="1e-9" ixy="0" ixz="0" iyy="0.0833333333333333" iyz="0" izz="0.0833333333333333"/>
    </inertial>
  </link>
</robot>
"""

rod = rd.load_urdf(ROD, floating_base=True, gravity=(0.0, 0.0, 0.0))
q = rd.neutral(rod)
places = rd.points(rod, {"rod": [(-0.5, 0, 0), (0, 0, 0), (1 / 6, 0, 0), (0.5, 0, 0)]})
end = rd.points(rod, {"rod": [(-0.5, 0, 0)]})

gives_way = rd.operational_inertia_inverse(rod, end, q)
print(f"mass felt at the end across the rod {1 / gives_way[2, 2]:8.4f} kg  (m/4)")
print(f"mass felt at the end along the rod  {1 / gives_way[0, 0]:8.4f} kg  (m)")

blow = np.array([0.0, 0.0, 1.0])
qd = np.linalg.solve(rd.mass_matrix(rod, q), rd.point_jacobian(rod, end, q)[0].T @ blow)
struck, centre, percussion, other = rd.point_velocity(rod, places, q, qd)[:, 2] + 0.0
print("after a blow of 1 N s:")
print(f"speed of the struck end             {struck:8.4f} m/s (4 p/m)")
print(f"speed of the centre of mass         {centre:8.4f} m/s (p/m)")
print(f"speed at two thirds                 {abs(percussion):8.4f} m/s")
print(f"speed of the other end              {other:8.4f} m/s (-2 p/m)")
