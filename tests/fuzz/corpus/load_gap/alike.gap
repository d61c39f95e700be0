# Three pieces with three sides: A turns two of them, B and C exchange neighbours. The first sides of the first two pieces look alike.
M_A:=(1,2,3)(4,6,5);
M_B:=(1,4)(2,5)(3,6);
M_C:=(4,7)(5,8)(6,9);
Gen:=[
M_A,M_B,M_C
];
ip:=[[1,4],[7]];
# Size(Group(Gen));
# Size(Stabilizer(Group(Gen), ip, OnTuplesSets));
