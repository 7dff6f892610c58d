process HAPGPU_GENOTYPE {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/hapgpu:0.1.0--pyhdfd78af_0':
        'quay.io/biocontainers/hapgpu:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(reads), path(index)
    tuple val(meta2), path(sites)
    tuple val(meta3), path(fasta), path(fai)

    output:
    tuple val(meta), path("*.vcf.gz")   , emit: vcf
    tuple val(meta), path("*.{tbi,csi}"), emit: index
    tuple val(meta), path("*.json")     , emit: json
    tuple val("${task.process}"), val('hapgpu'), eval("hapgpu --version | sed 's/hapgpu //'"), topic: versions, emit: versions_hapgpu

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    if ("${sites}" == "${prefix}.vcf.gz") error "Input and output names are the same, use \"task.ext.prefix\" to disambiguate!"
    """
    hapgpu genotype \\
        --threads ${task.cpus} \\
        ${args} \\
        --json ${prefix}.genotype.json \\
        -o ${prefix}.vcf.gz \\
        ${reads} \\
        ${fasta} \\
        ${sites}
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    if ("${sites}" == "${prefix}.vcf.gz") error "Input and output names are the same, use \"task.ext.prefix\" to disambiguate!"
    """
    echo ${args}
    echo "" | gzip > ${prefix}.vcf.gz
    touch ${prefix}.vcf.gz.tbi
    touch ${prefix}.genotype.json
    """
}
