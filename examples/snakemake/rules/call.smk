SAMPLES = config["call"]["reads"]
CONTIGS = config["call"]["contigs"]

# GATK's hard thresholds, for SNVs and for records with an indel.
THRESHOLDS = (
    'TYPE!~"indel" && (QD<2 || QUAL<30 || SOR>3 || FS>60 || MQ<40 || MQRankSum<-12.5'
    ' || ReadPosRankSum<-8) || TYPE~"indel" && (QD<2 || QUAL<30 || FS>200 || ReadPosRankSum<-20)'
)


rule call_contig:
    input:
        reads=SAMPLES,
        indexes=[index_of(path) for path in SAMPLES],
        reference=config["call"]["reference"],
        reference_index=f"{config['call']['reference']}.fai",
    output:
        vcf="results/call/{contig}.vcf.gz",
        index="results/call/{contig}.vcf.gz.tbi",
    log:
        "logs/call/{contig}.log",
    threads: config["threads"]
    resources:
        # A GPU gains little here: it is left to the other parts.
        mem_mb=config["call"]["mem_mb"],
        runtime=config["runtime"],
    shell:
        "hapgpu call {input.reads:q} {input.reference:q} -r {wildcards.contig:q} --device cpu"
        " -t {threads} -o {output.vcf:q} 2> {log:q}"


rule calls:
    input:
        [f"results/call/{contig}.vcf.gz" for contig in CONTIGS],
    output:
        "results/calls.vcf.gz",
    log:
        "logs/calls.log",
    shell:
        "bcftools concat --naive {input:q} -o {output:q} 2> {log:q}"


rule filtered_calls:
    input:
        "results/calls.vcf.gz",
    output:
        vcf="results/filtered.vcf.gz",
        index="results/filtered.vcf.gz.tbi",
    log:
        "logs/filtered_calls.log",
    params:
        thresholds=THRESHOLDS,
    shell:
        "(bcftools filter -s hard -e {params.thresholds:q} {input:q} -o {output.vcf:q}"
        " && tabix -p vcf {output.vcf:q}) 2> {log:q}"
